"""Serving primitives."""
