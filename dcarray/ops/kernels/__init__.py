"""Kernels of the library: what a device without NumPy runs, as array kernels.

A fused `Program` becomes a map or a reduction over a grid here.  Nothing in this room
knows a device.
"""
