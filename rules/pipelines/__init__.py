"""Input pipelines: the order of their stages, what runs beside the step, and what they keep."""
