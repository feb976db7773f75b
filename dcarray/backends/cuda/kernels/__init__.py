"""Kernels in CUDA C++ of our own, for what the kernel language cannot say: work whose
parts wait for each other, and rows that stay in registers."""
