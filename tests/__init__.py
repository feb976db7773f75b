"""The tests, by what they need: see each folder."""
