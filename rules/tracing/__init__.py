"""Tracing: functions, objects and graphs that are made again and again, and what happens while they are traced."""
