"""Tests of how costs grow."""
