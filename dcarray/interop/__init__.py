"""The outside world: NumPy's protocols, DLPack, and NumPy programs run as they are."""
