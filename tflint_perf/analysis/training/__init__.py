"""What a program does as it trains: its steps and what runs beside them, sessions, devices, copies to the host, files.

*Program*: a script that trains when it is run. *Session*: TensorFlow 1's way to run a graph.

    training_steps.hold(node)  # whether a node runs with each gradient step
    sessions.ops_in_loops()
"""
