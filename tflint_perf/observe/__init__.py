"""The observer: what runs inside the process of the user's program, and sees where its steps' time goes.

It is loaded before the program, by the Python that the program is to run in, which need not be the tool's own: nothing
here imports more than the standard library, and TensorFlow is touched once the program has imported it. Nothing on disk
is changed; what is replaced are functions of TensorFlow and Keras as they are imported (`hooks`), and they do what they did.

`program` runs it, `user_code` knows which code is the user's, `clock` finds the steps, `timers` and `sampler` see what goes on in
them, and `ledger` keeps what each of them cost.
A process that the program forks is not observed.
"""
