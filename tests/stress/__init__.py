"""Tests that run random programs."""
