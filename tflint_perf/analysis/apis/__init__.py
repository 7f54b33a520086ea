"""What the functions and classes of TensorFlow, Keras, NumPy, Python and others are and do: facts, and no code of a user.

One row a name, one place a fact. The rows stand in `facts/*.txt`; the module `facts` reads them, and says how they are written:

    has("tf.math.exp", "pure")  # True: all functions of `tf.math` are
    fact("tf.reduce_mean", "gives")  # "tensor"
    methods("Dataset", "stage")  # {"map", "batch", …}

A word means one thing, whoever asks; where two rooms ask nearly the same for two purposes, there are two words. Each of
them is asked somewhere: look for it in quotes. They are, with a value where a `=` follows:

What a name is

- `is=`: where the same thing stands now, which TensorFlow had elsewhere once, or has in its sources.
- `until=`: the last major version of its library that has it as one may write it today; `benchmarks.api_facts` holds
  the names without one against the installed versions.
- `library=`: the library that all names below are of.
- `by-star`: a star import of one of several Keras modules brings it.
- `never-assigned`: nobody who trains a model assigns to what the library gives by name; where a file does, it says so.
- `base=`: the kind of classes that derive from it.
- `instance=`: the kind of what an annotation with it stands for.
- `plain-base`: a base class whose own methods nothing here asks about. `thread`: starting an object runs its `run`.
- `named-tuple`: a base class that makes tuples, which a graph takes and gives as it does others.
- `constant`: a number that is known by name. `plain-numbers`: functions of Python numbers alone.
- `version-2`: what there is, or makes sense, in TensorFlow 2 alone.
- `builds-graphs`: what builds a graph for a session. The reset of a graph is no sign: people keep that by habit.
- `session-code`: the same, for the question whether a whole file is written for sessions; saving is none of that.
- `eager-mode`, `graph-mode`: who mentions it runs eagerly, or builds graphs.
- `estimator`: estimators of TensorFlow 1. `wraps-models`: makes an estimator for scikit-learn of a Keras model.
- `image-generator`: Keras's `ImageDataGenerator`. `flows`: its methods that give batches.
- `progress-bar`: a bar that shows how far a loop is, and gives the elements of what it is given: `hands-on=elements` goes without
  saying. Such a row says `takes-elements` as well.
- `hands-on=`: what a loop over its result gets of what it is given: "elements", elements of a "copy", of an "iterator", "some" of
  them, "numbered" ones, or "tuples" with one of each argument.
- `sequential`: a Keras model that is a list of layers. `input`: an input of a Keras model.
- `builds-model`: what models are built of, or from, by calling layers. `loss`: the losses of Keras, classes or functions.

What a call gives

- `gives=`: the kind of value: "tensor", "tensors" for several, "array", "dataset", "model", "tape", …
- `result=`: how a value is made of the arguments, for the few whose kind depends on them.
- `one-tensor`: one dense tensor, whatever it is given. `gives-any`: what the function that it is given gives.
- `dtype=`, `dtype-at=`: the type of its numbers where it is told none, and where that would stand among the arguments.
- `number=`, `size-at=`: the type of the Python number that it gives, unless a size stands at that place.
- `takes-shape`: the shape stands first. `takes-dims`: under the name `dims`. `makes-of-shape`: of the shape it is told.
- `makes-like`: ones or zeros of the shape of what it is given. `makes-zeros`: nothing but zeros.
- `makes-tensor`: makes a tensor of host data. `brings`: so that a value made there counts as brought to the device.
- `makes-array`: makes an array of lists or arrays. `makes-scalar`: one number of one number.
- `makes-container`: a list or dict that grows. `makes-dataset`: whatever hangs on `tf.data.Dataset`.
- `makes-doubles`, `draws-doubles`: float64, unless they are told otherwise; `any-arguments`: however they are called.
- `eight-bit`: images of 8 bits. `gives-data`: the arrays of a data set, made anew for whoever asks.
- `gives-datasets`: a dataset, or several, by a name in a catalogue.
- `gives-integers`: integer tensors. `few-rows`: tensors of which each row is a size, or which only count.
- `gives-many`: more than one number. `gives-shape`: the shape of a tensor, as a tensor. `ranks`: the number of its axes.
- `gives-host-memory`: its result lies on the host wherever it runs. `fills`: puts host data in a tensor.
- `gives-variables`: the variables of a graph. `variable`: a variable. `tensor-array`: a `TensorArray`.
- `placeholder`: what a session is fed. `generator`: an object that draws. `summary-writer`: writes summaries.
- `counts`: a number or a word of a sample. `counts-up`: numbers, one after the other.
- `allocates`: an array of a size, to be written to. `repeats-at=`: as many rows as asked of the one number at that place.
- `items-at=`: a list of as many items as the number at that place says, which is called `k`.

What it computes

- `pure`: gives the same for the same, has no effect, and checks nothing.
- `elementwise`, `elementwise-of-two`, `elementwise-of-three`: works on each number by itself, of so many tensors.
- `changes-type`: gives the same numbers in another type. `casts`: in the one that it is told.
- `rescales`: a layer that multiplies and adds. `makes-floats`: gives floats of what may be bytes.
- `keeps-scalars`: gives a scalar where it is given scalars. `reduces`: gives a scalar where no axis is named.
- `one-number`: gives one number for many, tensors or not, for whoever asks whether a list was used up.
- `condenses`: gives, or keeps, far less than it takes: a statistic, or what is distinct.
- `tells-backend`: the name of the backend that Keras runs on.
- `learns-from-data`: a layer's method that reads a whole dataset, once, for what the layer needs to know of it.
- `shape=`: of what an op gives: "kept" as its first argument by place has it, "broadcast" from two, or that of a "product"; asked
  where eager loops are staged, which need the very shape.
- `keeps-size`: a layer that gives images of the size that it gets; of other layers of Keras it is open how large elements become.
- `size-known`: the same of functions of Python and NumPy: what it does to the size of an element is known: nothing.
- `keeps-bytes`: leaves 8-bit numbers what they are, be they more or fewer: a crop does.
- `type-of-texts`: the type that says of a tensor that it holds texts.
- `keeps-eight-bits`: leaves the type of an array and about as many numbers in it.
- `keeps-floats`: gives floats of floats. `of-floats`: a layer that gives floats, whatever it is given. `of-integers`: one that may
  make integers of floats.
- `keeps-type`: of the type of what it is given first. `keeps-number`: as many names of files as it is given.
- `like-first`: has the structure of its first argument. `nests`: works on structures.
- `adds-on`: adds a tensor to another, or behind it. `adds-up`: adds tensors.
- `waits-for-person`: shows something until a person goes on, or for so many milliseconds.
- `pauses`: waits for so many seconds. `ends-program`: does not come back, since the program ends.
- `asks-broken`, `asks-sound`: whether a number is none any more, or infinite; whether it still is one.
- `equals`, `differs`, `modulo`, `conjunction`: comparisons, remainders and the logical *and*. `one-hot`, `squeezes`, `resizes`: the ops of that name.
- `clips-together`: clips gradients by their common norm.
- `joins-tensors`, `joins-arrays`: makes one of several. `stacks-tensors`: along a new axis.
- `appends-arrays`, `lengthens`: puts arrays one behind the other, to which more come each time.
- `combines`: makes one tensor, or a dataset, of what a list has collected.
- `pads-sequences`: makes an array of sequences. `decodes-images`, `decodes-audio`, `decodes-raw`, `decodes`: of bytes.
- `first-tells-type`: a graph takes the type of the first of its numbers, or of that at the place that is told, for those behind it,
  where eager code goes by the tensor among them: `tf.maximum(0, x)`.
- `differs-in-training`: a layer that gives something else where it is trained, and may keep something of what it saw.
- `recurrent`: a layer that goes through a sequence step by step.
- `wraps-layer`: a layer that has no weights but those of the layers that it is given first.
- `looks-up`: a table, or a layer with one, that words or numbers are looked up in.
- `parses`: reads bytes that it is given, not files. `parses-batches`: a whole batch of them.
- `prepares-samples`: prepares one sample. `one-sample`: takes one, and there is no such op that takes a batch.

Memory that others may write to

- `fresh`: a tensor that nobody else holds. `copies`: an array of its own. `views`: an array that may share memory.
- `copies-whole`: another object like the one that it is given, which shares nothing with that.
- `describes`: an attribute that tells of an array without its numbers.
- `arrays=`: how many arrays it takes; behind them stands the one that it writes to.
- `unforeseen`: an array of its own with numbers that nobody knows beforehand.
- `writes-to-arrays`: changes an array that it is given. `changes-nothing`: changes nothing that it is given.
- `reads`: looks at what it is given and keeps nothing of it.

Chance, clocks and effects

- `draws`: an op or layer that draws random numbers. `draws-on-host`: Python or NumPy does, once for each call.
- `varies`: gives something else each time by itself: it draws on the host, or looks at a clock.
- `advances`: gives what comes next of an iterator, something else each time.
- `clock`: asks Python for the time. `device-clock`: an op does.
- `augments`: a layer that changes images at random while it is trained.
- `stateful`: an op or layer that keeps or changes something, as TensorFlow sees it.
- `sorts`: gives what it is given in the order of its values. `shuffles`: brings what it is given into another order. `numbers-places`: gives the numbers of as many places as it is told,
  in some order. `picks`: gives its second argument where the first holds, and its third elsewhere.
- `sets`: changes what ops give that are called afterwards. `configures`: so, of devices or loggers.
- `places-ops`: has the ops below it run on the device that it names.
- `sets-memory`, `sets-up-devices`, `sets-precision`: so, of GPU memory, devices and floating-point types.
- `numbers-ops`: tells of a graph whose ops have numbers, which seeds depend on.
- `shows`: shows or logs. `makes-text`: makes text of tensors for it. `prints`: as an op. `no-effect`: has none.
- `draws-figure`: makes a figure, a part of one with axes of its own, or a file of one, which takes many milliseconds.
- `pictures`: makes something to look at, or to keep as a file; `writes-files`, the latter. `computes-values`: makes host values of host values.
- `harmless`: steers nothing, and reads a tensor at most to show it. `harmless-to-make`: makes a value, and fails never.
- `builds`: gives the same for the same where a graph is built. `settled`: so, where a dataset is built.
- `known-to-graphs`: gives the same for the same arguments, as far as a traced graph can tell.
- `collects-garbage`, `clears-session`, `resets-graph`, `new-graph`: throws away what is not needed, or a graph.
- `runs-eagerly`, `runs-pipelines-eagerly`, `logs-placement`, `checks-numerics`: switches and checks for debugging.

Files and other libraries

- `reads-file`: an op that reads one. `reads-images`, `reads-arrays`, `reads-tables`: Python code that reads one.
- `reads-lines`: a method of a file that gives lines of text. `parses-lines`: reads lines, and makes numbers of them.
- `opens-files`: gives a file. `reads-elsewhere`: reads, or looks up, what no op does.
- `holds-lock`: Python code that never lets another thread run beside it: it waits for nothing, and computes in Python.
- `has-no-file`: computes, and has no file to read in. `reads-records`: a dataset of what stands in files.
- `lists-files`, `walks-files`, `matches-files`, `lists-devices`: lists of those.
- `of-hosts`: of a library that only the machines of Colab or Kaggle have.
- `folds`: an object whose `split` gives so many parts of data, unless it is told another number.
- `restores`: reads what a model learned before. `loads-model`, `loads-objects`, `loads-compiled`: what was saved of a model, an object, or a compiled function.
- `exports`: writes a compiled function for other programs, or makes what is written.
- `checkpoints`: keeps what it is given, and runs nothing of it. `whole-model`: makes a model with its weights.
- `keras-utility`: looks at a model and keeps nothing of it. `takes-model`: takes a model of Keras first, and nothing else there.
- `reads-variable`: Keras's own way to copy a variable to the host.
- `summary`, `heavy-summary`, `records-if`: writes for TensorBoard, a whole tensor, or now and then.

Compiled code

- `gives-numbers`: a method that runs compiled code and waits for what it gives on the host.
- `runs-updates`: runs a graph, and the `updates` that it is given, as an optimizer of old gave them.
- `compiled`: a method that Keras compiles. `steps`: so, which a training loop by hand calls as well. `takes-data`: so, which is given the data of a batch and nothing else.
- `compiles`: makes a `tf.function`. `traces`: traces the function that it is given. `asks-mode`: asks whether it runs so.
- `converts-code`: gives a function that does the same in a graph. `binds`: with some arguments already given.
- `maps`: runs it once for each row.
- `runs-python`: an op that runs it as Python. `runs-functions`: Python code does. `runs-program`: as a whole program.
- `makes-command`: a decorator of a function that a command line runs, once.
- `calls-on-each`: calls it on each element; `calls-on-parts`: on the parts of nested values, side by side.
- `runs-one-of`: runs one of the functions that it is given, and gives what that does. `runs`: a strategy does so on each device.
- `host`: runs on the host, so compiled code cannot. `works-on-arrays`: so, whoever has a function of that name.
- `same-when-traced`, `of-attributes`: of NumPy, but means the same at trace time, or needs no number of a tensor.
- `takes-counters`, `takes-any-integer`, `takes-arrays`: takes an integer tensor, of any type, or arrays as it does tensors.
- `indices-at=`: at which place it takes whole numbers of places, whatever else it works on, and calls them `indices`.
- `takes-elements`: shows nothing of the dataset that it takes elements from, but how many there are: not its class, nor its text.
- `ops`: name spaces of ops. `runs-no-op`: among them, but runs none.
- `twin=`: the op that does what a function of another library does. `alike=`: so that a call may stay as it is: with so
  many arguments by place, as a reduction, or with an axis.
- `says-form`: says in which form numbers are; an op is there wherever one is needed. `encoder=`: makes numbers of text.

Graphs of TensorFlow 1

- `graph`, `default-graph`: a graph, and the one that is there by itself.
- `adds-op`: adds an op to the graph. `adds-none`: is called like an op and adds none.
- `holds-state`: adds what remembers from run to run. `collected`: adds what
  is found again. `of-collections`: reads that.
- `assigns`, `assigns-whole`: gives a variable a value; all of it. `looks-up-variable`: makes one, or finds it.
- `starts-iterator`: an iterator that begins where the dataset begins.
- `trains`, `minimizes`, `minimizes-on-host`, `makes-train-op`: trains, or makes the op that does.
- `gradients-by=`: a minimizer that asks for gradients again and again: by which name it is given what gives them; `True` there says
  that the function which it is given first does. `asks-for-both`: that one gives the loss and its gradients unless it is told so.

Datasets

- `source`: a dataset by itself. `batched=`: whether its elements are batches: yes, no or open. `shuffled`: what it
  reads is in random order, unless it is told `shuffle=False`.
- `single`: its elements are single samples. `counted`: TensorFlow knows how many.
- `may-be-source`: name spaces with sources; the kind of value settles the rest.
- `stage`: gives a dataset of a dataset. `applies=`: so, given to `Dataset.apply`, and what it comes down to.
- `makes-batches`, `regroups`, `rebatches`: puts elements together: in order; by another measure; anew.
- `keeps-elements`: leaves elements as they are and where they are in a batch. `keeps-batches`: batches stay batches.
- `other-elements`: behind it there are other elements than in front. `multiplies`: there may be many for one.
- `joins`: makes one dataset of several. `works`: takes time. `ahead`: is done before a step asks.
- `calls`: calls a function of the program for each element.
- `repeatable`: gives the same elements whenever it is asked, in code that may move. `orders`: keeps or draws something
  that stays with the dataset. `steady`: the same each epoch, if what it calls is.
- `autotune`: TensorFlow chooses.
"""
