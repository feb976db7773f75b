"""The functions of the namespace, one file for each family of the standard.

A function is native, or NumPy's on the host: `coverage` keeps account.
"""
