"""What users call things: the one place where their words are evidence. It knows no trees, only names.

A name tells something only where the code tells nothing: whoever asks has looked at the code first. Each predicate is given
an identifier and returns the word that it went by, so that a caller can say it; "" where it went by none.

    names_an_epoch("maxEpochs")  # "epoch"
    names_a_test("latest")  # ""

All split names in one way: at underscores, dots, capitals and digits, so that `trainStep2` is *train*, *step*, *2*. The
tables say

    batch        that word, anywhere, or its plural, which words of one or two letters have not
    batch!       that word and no plural
    batch_size   these words, one behind the other
    optim*       a word that begins so; *loss one that ends so; get_*batch these words, the second of which ends so
    ^train       the first word; path$ the last one but for numbers

What each word earns, `benchmarks/places.py ablation` counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache

# Capitals in a row are one word but for the last of them where that begins another: `MSELoss` is *mse*, *loss*; `numGPUs`
# is *num*, *gpus*.
_WORD = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_MARKS = "^*!$"
# Names are many, and most come again.
_MANY = 1 << 14


class Notion:
    """Words by which something goes: `words` say what it is; `unless` say that it is not, whatever else is in the name.

    `behind` are words that may stand behind a last one: `model_target` is a model. `name` is for lists of all notions.
    """

    def __init__(self, name: str, words: str, *, unless: str = "", behind: str = "") -> None:
        self.name = name
        self.words = tuple(words.split())
        self.unless = tuple(unless.split())
        self._behind = "|".join((r"\d+", *behind.split()))
        self._off: frozenset[str] = frozenset()
        self._asked: dict[str, str] = {}

    @property
    def asked(self) -> Mapping[str, str]:
        """The identifiers that were asked about of late, and the word that each goes by, or ""."""
        return self._asked

    def forget(self) -> None:
        """Forget what was asked."""
        self._asked.clear()

    def in_name(self, identifier: str) -> str:
        """The first word that says an identifier to be this, "" where none does or one denies it."""
        word = self._asked.get(identifier)
        if word is None:
            if len(self._asked) >= _MANY:
                self.forget()
            word = self._asked[identifier] = self._find(words_of(identifier))
        return word

    def all_in_name(self, identifier: str) -> tuple[str, ...]:
        """Every word of the tables that says an identifier to be this, as the tables have it."""
        words = words_of(identifier)
        if self._denied.search(words):
            return ()
        return tuple(word for word, pattern in self._each.items() if pattern.search(words))

    def _find(self, words: str) -> str:
        found = self._said.search(words)
        if found is None or self._denied.search(words):
            return ""
        return self._left(self.words)[(found.lastindex or 1) - 1].strip(_MARKS).rstrip("_")

    @cached_property
    def _said(self) -> re.Pattern[str]:
        return self._any_of(self.words)

    @cached_property
    def _each(self) -> Mapping[str, re.Pattern[str]]:
        return {word: re.compile(self.pattern(word)) for word in self.words}

    @cached_property
    def _denied(self) -> re.Pattern[str]:
        return self._any_of(self.unless)

    def _left(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for word in words if word not in self._off)

    def _any_of(self, words: tuple[str, ...]) -> re.Pattern[str]:
        return re.compile("|".join(f"({self.pattern(word)})" for word in self._left(words)) or "(?!)")

    def pattern(self, word: str) -> str:
        """The regular expression of a word of the tables, for what `words_of` gives."""
        text = word.strip(_MARKS)
        inside = text.replace("*", "[^_]*")
        begin = r"\A" if word.startswith("^") else "(?<![^_])"
        begin += "[^_]*" if word.startswith("*") else ""
        plural = len(text) > 2 and "!" not in word
        end = "[^_]*" if word.endswith("*") else "(?:e?s)?" if plural else ""
        end += rf"(?:_(?:{self._behind}))*\Z" if word.endswith("$") else "(?![^_])"
        return f"{begin}{inside}{end}"

    @contextmanager
    def without(self, word: str) -> Iterator[None]:
        """For as long as the context lasts, one of the words is not in the tables."""
        self._switch_off(self._off | {word})
        try:
            yield
        finally:
            self._switch_off(self._off - {word})

    def _switch_off(self, words: frozenset[str]) -> None:
        self._off = words
        self.__dict__.pop("_said", None)
        self.__dict__.pop("_denied", None)
        self.forget()


@lru_cache(_MANY)
def words_of(identifier: str) -> str:
    """The words of an identifier in small letters, joined by underscores: "train_step_2" of `trainStep2`."""
    return "_".join(_WORD.findall(identifier)).lower()


def notions() -> list[Notion]:
    """All notions, in the order of this file."""
    return [each for each in globals().values() if isinstance(each, Notion)]


# Data: datasets, batches, their sizes, and what is in them.

_DATASET = Notion("a dataset", "ds dataset data_set")
_GENERATOR = Notion(
    "a generator of batches",
    "generator!$ *gen!$ *loader!$ batches$ next_batch!$ load_batch!$ get_batch!$ iterate_minibatches$",
)
_STREAM = Notion("a stream", "ds$ dataset!$ data_set!$ iterator!$")
_BATCH = Notion("a batch", "*batch batched batching batchsize", unless="batch_norm* batchnorm*")
_BATCH_SIZE = Notion("a batch size", "*batch! batchsize bs$", unless="batch_norm* batchnorm*")
_THE_BATCH_SIZE = Notion(
    "the batch size of training",
    "^batch_size!$ ^batchsize!$ ^train_batch_size!$ ^training_batch_size!$ ^global_batch_size!$",
)
_INPUT = Notion("an input or target", "^x$ ^y$ ^xs$ ^ys$ ^xb$ ^yb$ ^x_b$ ^y_b$")
_MEASURE = Notion(
    "a measure",
    "*size *len length num* nb count counter index indices ind idx *shape batches n i id ids rate norm step",
)
_LABEL = Notion("a label", "y ys label lbl target class cls category id ids")
_NOISE = Notion("noise", "*noise* latent* seed code z eps epsilon")
_FILE = Notion("a file", "path!$ file!$ file_name!$ *filename!$ *fname!$")


def names_a_dataset(identifier: str) -> str:
    """A dataset, or something of one: `train_ds`, `dataset_size`."""
    return _DATASET.in_name(identifier)


def names_a_generator(identifier: str) -> str:
    """What gives batches when it is called: `data_loader`, `datagen`, `next_batch`."""
    return _GENERATOR.in_name(identifier)


def names_a_stream(identifier: str) -> str:
    """A source that gives batches or samples when it is iterated over: a dataset, an iterator, or what gives batches."""
    return _STREAM.in_name(identifier) or names_a_generator(identifier)


def names_a_batch(identifier: str) -> str:
    """A batch, or something of one: `x_batch`, `batch_xs`, `n_batches`."""
    return _BATCH.in_name(identifier)


def names_a_batch_size(identifier: str) -> str:
    """The batch size, where a number is asked for: `batch_size`, `batch`, `bs`."""
    return _BATCH_SIZE.in_name(identifier)


def names_the_batch_size(identifier: str) -> str:
    """The batch size that a program trains with, and that of nothing else: no `test_batch_size`."""
    return _THE_BATCH_SIZE.in_name(identifier)


def names_an_input(identifier: str) -> str:
    """The inputs or targets of a step, by their letters alone."""
    return _INPUT.in_name(identifier)


def names_a_measure(identifier: str) -> str:
    """A number about data, rather than data: `batch_size`, `n_batches`, `idx`."""
    return _MEASURE.in_name(identifier)


def names_a_label(identifier: str) -> str:
    """What a model is to learn: `y_train`, `class_id`."""
    return _LABEL.in_name(identifier)


def names_noise(identifier: str) -> str:
    """The noise that a generator network starts from: `noise`, `z`."""
    return _NOISE.in_name(identifier)


def names_a_file(identifier: str) -> str:
    """A file: `image_path`; no `paths`."""
    return _FILE.in_name(identifier)


# What is done to data.

_AUGMENTING = Notion(
    "augmenting",
    "aug augment* distort* jitter* flip* noise* rotat* normaliz* normalis* standardi*",
    unless="*crop* *resiz* *patch* *extract* *feature*",
)
_SHAPING = Notion(
    "shaping",
    "as cast concat convert crop decode decoder deserialize drop extract filter flatten format get "
    "load merge normalize normalise one_hot pad parse parser pop read reader rename rescale reshape "
    "resize scale select split stack standardize standardise to unpack",
)
_READING = Notion(
    "reading",
    "read* imread* mread* load* open* fetch* query* execute* recv* request* download* sleep* step* "
    "reset* iter_rows iterrows itertuples iteritems",
)
_WRITING = Notion(
    "writing",
    "*save* *dump* *write* to_csv to_json to_pickle to_hdf* to_parquet rename* replace* *copy* "
    "*move* system run* popen",
)
_SAMPLING = Notion("sampling", "sample* draw*")
_DRAWING_A_BATCH = Notion(
    "drawing a batch",
    "*batch!$ ^next_*batch* ^sample_*batch* ^get_*batch* ^load_*batch* ^generate_*batch* "
    "^make_*batch* ^random_*batch* ^fetch_*batch*",
)
_FIRST_SAMPLE = Notion("sampling a memory", "^sample")


def names_augmenting(identifier: str) -> str:
    """A function that gives another image of the same size: `augment`, `random_flip`."""
    return _AUGMENTING.in_name(identifier)


def names_shaping(identifier: str) -> str:
    """A function that takes an element apart or brings it into shape, and neither draws nor counts: `parse_example`."""
    return _SHAPING.in_name(identifier)


def names_reading(identifier: str) -> str:
    """A function that reads or waits for something outside: `load_image`, `env.step`."""
    return _READING.in_name(identifier)


def names_writing(identifier: str) -> str:
    """A function that may change files: `save_state`, `os.rename`."""
    return _WRITING.in_name(identifier)


def names_sampling(identifier: str) -> str:
    """A function that samples from existing data: `sample`, `draw_batch`, `replay`."""
    return _SAMPLING.in_name(identifier) or names_a_batch(identifier) or names_a_memory(identifier)


def names_drawing_a_batch(identifier: str) -> str:
    """A function that gives one batch: `next_batch`, `sample_memory`."""
    return _DRAWING_A_BATCH.in_name(identifier) or (
        _FIRST_SAMPLE.in_name(identifier) and names_a_memory(identifier)
    )


# Training and evaluation.

_EPOCH = Notion("an epoch", "epoch ep episode")
_COUNTER = Notion(
    "a counter", "step iter iteration itr frame timestep t i n_update nupdate count counter idx$"
)
_TRAINING_DATA = Notion("training data", "train! training!")
_STEP = Notion("a step", "train* step* fit*")
_MAY_STEP = Notion(
    "what may step", "*train* *step* generat* infer* learn* optimi* update* translat* forward*"
)
_TRAINING = Notion(
    "training",
    "^train!$ ^retrain!$ ^pretrain!$ ^train_step!$ ^train_on_batch!$ ^train_epoch$ ^train_model!$ "
    "^train_network!$ ^train_loop!$ ^train_agent!$ ^train_one_step!$ ^train_one_epoch!$ "
    "^train_one_batch!$ ^train_and ^run_train!$ ^start_train!$ ^do_train!$ ^run_training!$ "
    "^start_training!$ ^do_training!$ ^learn!$ ^optimize!$ ^optimise!$ ^optimize_model!$ "
    "^optimise_model!$",
)
_TRAIN_OP = Notion("a training op", "train* opt$ solver* update* apply_grad*", behind="op")
_MINIMIZING = Notion("minimizing", "minimi* optim*")
_MEASURED = Notion(
    "measured", "acc$ accuracy$ *loss$ cost$ metric$ error$ score$ summary$ summaries$ mse$ auc$", behind="op"
)
_EVALUATION = Notion("evaluation", "val valid* eval* dev infer* predict*")
_INITIALIZING = Notion("initializing", "*init*")
_TEST = Notion("a test", "test*")
_BEGINNING = Notion("a beginning", "start* warm* begin* learn* train* batch* init* min*")
_MOMENT = Notion("a moment", "done first last next prev* best since end stop* finish*")
_BEST = Notion("the best", "best lowest highest record! smallest largest")
_EXTREME = Notion("an extreme", "max min")
_ENOUGH = Notion("enough", "enough ^exceeds!$")
_ABLE = Notion("being able", "^can ^may ready sufficient")
_LEARNING = Notion("learning", "sampl* learn* train* replay*")
_FILLING = Notion(
    "a filling", "*size$ ^counter$ ^cntr$ ^ptr$ mem_cntr$ memory_counter$ ^pointer$ ^length$ buffer_counter$"
)
_RANK = Notion(
    "a rank", "^rank$ ^local_rank$ ^global_rank$ ^hvd_rank$ ^world_rank$ ^is_chief$ ^is_main* ^is_master$"
)


def names_an_epoch(identifier: str) -> str:
    """An epoch, or what takes its place in reinforcement learning: `n_epochs`, `episode`."""
    return _EPOCH.in_name(identifier)


def names_a_counter(identifier: str) -> str:
    """A counter of iterations: `global_step`, `i`, `episode`."""
    return _COUNTER.in_name(identifier) or names_an_epoch(identifier)


def names_training_data(identifier: str) -> str:
    """Data to train on: `train_ds`."""
    return _TRAINING_DATA.in_name(identifier)


def names_a_step(identifier: str) -> str:
    """A function that makes a step: `train_step`, `fit_batch`."""
    return _STEP.in_name(identifier)


def may_name_a_step(identifier: str) -> str:
    """A function of another file that may make a step, or run a model."""
    return _MAY_STEP.in_name(identifier) or names_evaluation(identifier)


def names_training(identifier: str) -> str:
    """A method that trains its own object: `train`, `train_one_epoch`, `learn`; no name of data, as `train_batch` is."""
    return _TRAINING.in_name(identifier)


def names_a_train_op(identifier: str) -> str:
    """An op that trains: `train_op`, `d_opt`, `minimize_loss`; none that measures the training data, as `train_loss` does."""
    return _MINIMIZING.in_name(identifier) or (
        "" if _MEASURED.in_name(identifier) else _TRAIN_OP.in_name(identifier)
    )


def names_evaluation(identifier: str) -> str:
    """Data to evaluate on, or a function that evaluates: `val_ds`, `test_step`, `predict`."""
    return _EVALUATION.in_name(identifier) or names_a_test(identifier)


def names_initializing(identifier: str) -> str:
    """An op that initializes variables: `init_op`."""
    return _INITIALIZING.in_name(identifier)


def names_a_test(identifier: str) -> str:
    """A test, or data to test on: `test_loader`; no `latest`."""
    return _TEST.in_name(identifier)


def names_a_beginning(identifier: str) -> str:
    """The moment from which something is done: `learning_starts`, `warmup_steps`, `min_replay`."""
    return _BEGINNING.in_name(identifier)


def names_a_moment(identifier: str) -> str:
    """What is true in some iterations only, or tells of another iteration: `done`, `last_save`."""
    return _MOMENT.in_name(identifier)


def names_the_best(identifier: str) -> str:
    """The best so far: `best_loss`, `max_reward`; no bound, as `max_steps` is one."""
    return _BEST.in_name(identifier) or (_EXTREME.in_name(identifier) and names_a_figure(identifier))


def names_enough(identifier: str) -> str:
    """A sign that a replay memory holds enough to learn from: `can_sample`, `has_enough`."""
    return _ENOUGH.in_name(identifier) or (_ABLE.in_name(identifier) and _LEARNING.in_name(identifier))


def names_a_filling(identifier: str) -> str:
    """How much a replay memory holds: `memory.size`, `buffer.cntr`."""
    return _FILLING.in_name(identifier)


def names_a_rank(identifier: str) -> str:
    """Which of several processes this is: `local_rank`, `is_chief`."""
    return _RANK.in_name(identifier)


# Parts of a program that trains.

_MODEL = Notion(
    "a model",
    "*model$ *net$ network$ *generator$ *discriminator$ *encoder$ *decoder$ actor$ critic$ policy$ "
    "classifier$ backbone$ student$ teacher$ *dqn$",
    behind="target online main local eval old new",
)
_THE_MODEL = Notion("the model", "model!$")
_OPTIMIZER = Notion("an optimizer", "opt$ optim$ optimizer$")
_SCHEDULE = Notion("a schedule", "*decay schedule* *restarts")
_LOSS = Notion("a loss", "*loss* criterion bce mse")
_ONE_LOSS = Notion("one loss", "*loss!$")
_METRIC = Notion("a metric", "acc *accuracy metric score measure*")
_FIGURE = Notion("a figure", "error reward perplexity entropy *norm elbo mae kl")
_METER = Notion("a meter", "*meter average avg running_mean tracker")
_TAPE = Notion("a tape", "*tape*")
_SESSION = Notion("a session", "sess$ session$")
_NUMBER = Notion(
    "a number",
    "*rate* lr eps epsilon alpha beta gamma lambda sigma *step* epoch temp temperature weight* coef* "
    "*scale* index* indices num* nb count counter *size len* iter* seed decay momentum ^n$ ^k$",
)
_SWITCH = Notion(
    "a switch or name",
    "prob* drop* keep* learning train* phase mode handle* flag ^is mean avg average std max* min* "
    "total sum summ* value name* *path file* str*",
)
_SETTINGS = Notion(
    "settings",
    "arg$ conf$ cfg$ config*$ configuration*$ flags$ hparam$ hp$ hps$ param$ opt$ option$ setting$ hyper*$",
)
_MAKING = Notion("making", "^build* ^create* ^make* ^load* ^get* ^define* ^new* ^init* ^clone* ^restore*")
_GPU = Notion("a GPU", "*gpu* cuda* memory_growth memorygrowth allow_growth allowgrowth limit_mem*")
_SETTING_UP = Notion("setting up", "config* set* init* select* pick* prepare*")
_DEVICE = Notion("a device", "*device sess session hardware accelerator")
_VERSION = Notion("a version", "*version* tf_1! tf_2!")


def names_a_model(identifier: str) -> str:
    """A model: `model`, `target_net`, `actor_target`."""
    return _MODEL.in_name(identifier)


def names_the_model(identifier: str) -> str:
    """A model by that very word: `self.model`."""
    return _THE_MODEL.in_name(identifier)


def names_an_optimizer(identifier: str) -> str:
    """An optimizer: `d_optimizer`, `opt`."""
    return _OPTIMIZER.in_name(identifier)


def names_a_schedule(identifier: str) -> str:
    """A class of schedules of learning rates: `ExponentialDecay`."""
    return _SCHEDULE.in_name(identifier) if identifier[:1].isupper() else ""


def names_a_loss(identifier: str) -> str:
    """A loss, or a function that gives one: `gen_loss`, `criterion`."""
    return _LOSS.in_name(identifier)


def names_one_loss(identifier: str) -> str:
    """A loss as a single number: `kl_loss`; no `losses`, no `loss_fn`."""
    return _ONE_LOSS.in_name(identifier)


def names_a_metric(identifier: str) -> str:
    """A metric: `val_accuracy`, `f1_score`."""
    return _METRIC.in_name(identifier)


def names_a_figure(identifier: str) -> str:
    """A number that tells how well a model does: a loss, a metric, a reward."""
    return _FIGURE.in_name(identifier) or names_a_loss(identifier) or names_a_metric(identifier)


def names_a_meter(identifier: str) -> str:
    """What keeps a running mean: `AverageMeter`, `loss_tracker`."""
    return _METER.in_name(identifier)


def names_a_tape(identifier: str) -> str:
    """A gradient tape: `tape`, `gen_tape`."""
    return _TAPE.in_name(identifier)


def names_a_session(identifier: str) -> str:
    """A session of TensorFlow 1: `sess`, `self.session`."""
    return _SESSION.in_name(identifier)


def names_a_number(identifier: str) -> str:
    """A number that a step is given besides its batch: `learning_rate`, `step`, `beta`."""
    return _NUMBER.in_name(identifier)


def names_no_batch(identifier: str) -> str:
    """A number, a switch or a text that a graph is given besides its batch, or that it writes to a log."""
    return _SWITCH.in_name(identifier) or names_a_number(identifier) or names_a_figure(identifier)


def names_settings(identifier: str) -> str:
    """An object that holds the settings of a program: `args`, `self.cfg`, `FLAGS`."""
    return _SETTINGS.in_name(identifier)


def names_making(identifier: str) -> str:
    """A function that makes something: `build_model`, `_make_net`; no method of Python, as `__init__` is one."""
    return "" if identifier.startswith("__") else _MAKING.in_name(identifier)


def names_device_setup(identifier: str) -> str:
    """A function or module that sets up devices: `limit_gpu_memory`, `init_session`."""
    return _GPU.in_name(identifier) or (_SETTING_UP.in_name(identifier) and _DEVICE.in_name(identifier))


def names_a_version(identifier: str) -> str:
    """A version: `tf.__version__`, `is_version_2`, `BEFORE_TF_2_4`."""
    return _VERSION.in_name(identifier)


# Parts of models, and how many there are of them.

_PART = Notion(
    "a part",
    "layer block head level scale stage stack gpu tpu replica worker device class categor* routing "
    "depth fold channel chan dim axis axes ndim rank group branch cell model expert order coupling "
    "flow hop view output input net critic disc* module tower anchor conv resblock flip repeat res "
    "unit capsule agent player task qubit wire feature param variable var weight column mixture "
    "component kernel loss label *layers *blocks *heads",
)
_MUCH = Notion(
    "much",
    "step iter iteration itr len length maxlen time timestep seq sequence horizon sample frame "
    "episode epoch round batch batchsize size point token row example word rollout t",
)
_LAYERS = Notion("layers", "layers$ blocks$")
_AGENTS = Notion("agents", "agents$")
_CRITIC = Notion(
    "a critic",
    "*critic disc dis discrim discriminator* d_step$ d_iter$ d_iteration$ d_update$ ^n_d$ ^nd$ training_ratio$",
)


def names_a_part(identifier: str) -> str:
    """A part of a model, or a device, of which there are few: a loop to such a number is short."""
    return _PART.in_name(identifier)


def names_much(identifier: str) -> str:
    """A large amount of time or data: `n_samples`, `seq_len`."""
    return _MUCH.in_name(identifier)


def names_layers(identifier: str) -> str:
    """How many layers a model has: `num_layers`."""
    return _LAYERS.in_name(identifier)


def names_agents(identifier: str) -> str:
    """Several agents: `self.agents`."""
    return _AGENTS.in_name(identifier)


def names_a_critic(identifier: str) -> str:
    """How often a critic is trained for each step of its generator: `n_critic`, `d_steps`."""
    return _CRITIC.in_name(identifier)


# Numerical work.

_SOLVING = Notion(
    "solving equations",
    "ode odeint pde pinn *solver integrator lbfgs bfgs runge dopri* hamiltonian* burgers* "
    "schrodinger* navier* helmholtz* poisson!",
)


def names_solving(identifier: str) -> str:
    """The solution of differential equations, or an optimizer of second order, which need double precision: `odeint`."""
    return _SOLVING.in_name(identifier)


# Reinforcement learning.

_ENVIRONMENT = Notion("an environment", "env environment")
_MEMORY = Notion(
    "a memory", "*memor* *buffer* replay* rollout* trajector* transition* experience* episode* *history"
)
_REMEMBERING = Notion(
    "remembering",
    "^remember!$ ^memorize!$ ^observe!$ ^cache!$ ^store_sample$ ^add_sample$ ^save_sample$ ^append_sample$",
)
_STORING = Notion("storing", "^store ^add ^save ^append")
_STATE = Notion("a state", "state obs observ* ^s$")
_OBSERVATION = Notion("an observation", "state$ obs$ observation$")
_REWARD = Notion("a reward", "reward* ^r$")
_WORKER = Notion("a worker", "conn* remote* pipe* worker*")


def names_an_environment(identifier: str) -> str:
    """An environment: `env`, `train_env`."""
    return _ENVIRONMENT.in_name(identifier)


def names_a_memory(identifier: str) -> str:
    """An agent's replay memory: `memory`, `replay_buffer`, `episode_states`."""
    return _MEMORY.in_name(identifier)


def names_experience(identifier: str) -> str:
    """An agent's replay memory, or the environment that it comes from: `memory`, `env`."""
    return names_a_memory(identifier) or names_an_environment(identifier)


def names_remembering(identifier: str) -> str:
    """A method that adds a step to a replay memory: `remember`, `store_transition`."""
    return _REMEMBERING.in_name(identifier) or (_STORING.in_name(identifier) and names_a_memory(identifier))


def names_a_state(identifier: str) -> str:
    """A state or observation, or something of one: `next_state`, `obs_t`."""
    return _STATE.in_name(identifier)


def names_an_observation(identifier: str) -> str:
    """One observation, or one of each environment: `obs`, `next_state`."""
    return _OBSERVATION.in_name(identifier)


def names_a_reward(identifier: str) -> str:
    """A reward: `reward`, `r`."""
    return _REWARD.in_name(identifier)


def names_a_worker(identifier: str) -> str:
    """A connection to a process that steps an environment: `conn`, `remote`."""
    return _WORKER.in_name(identifier)


# Loops, as helpers of a project wrap them for whoever looks at them.

_WRAPPING_BAR = Notion(
    "a bar around a loop",
    "^tqdm!$ ^tqdm_notebook!$ ^tqdm_gui!$ ^tqdm_pandas!$ ^progress_bar!$ ^progressbar!$ ^master_bar!$ ^alive_it!$ ^track!$",
)
_COUNTING_BAR = Notion("a bar that counts", "^trange!$ ^tnrange!$")


def names_a_wrapping_bar(identifier: str) -> str:
    """A function that shows the progress of a loop over what it is given, from whichever module: `tqdm`,
    `progress_bar`."""
    return _WRAPPING_BAR.in_name(identifier)


def names_a_counting_bar(identifier: str) -> str:
    """A progress bar over numbers: `trange`."""
    return _COUNTING_BAR.in_name(identifier)


# What people look at.

_TRACING = Notion("tracing", "trac* retrac* *compil* *graph symbolic*")
_DEBUGGING = Notion("debugging", "debug* profil* trace tracing diagnos* eager*")
_SHOWING = Notion("showing", "log* *print* *show* display*")
_KEEPING = Notion("keeping", "verbose* dry_run summar* visuali* plot* render* save*")
_TELLING = Notion(
    "telling", "*write* report* message msg echo notify status info *title *label* send* post* debug*"
)
_LOGGING = Notion(
    "logging",
    "^log_* ^record_* ^report_* ^print_* ^show_* ^display_* ^write_* ^add_scalar_* ^monitor_* "
    "^track_* ^logkv* ^recordkv* ^writekv*",
    unless="log_softmax log_prob* log_sigmoid log_normal log_likelihood log_loss log_pdf log_cosh log_sum* "
    "log_gamma log_det* log_1 log_2 log_10 memory$ buffer$ transition$ experience$",
)
_PICTURE = Notion(
    "a picture",
    "^save_image$ ^saveimage$ ^save_img$ ^saveimg$ ^save_fig$ ^save_png$ ^save_plot$ ^save_result$ "
    "^save_sample$ ^save_grid$ ^show_* ^plot_* ^draw_* ^display_* ^visualize_* ^visualise_* "
    "^render_*",
)
_LOGGER = Notion("a logger", "log$ logger$ logging$ ^run!$ experiment* console")
_BAR = Notion("a progress bar", "*bar$ pbar progress*")
_WATCHING = Notion("watching", "raises profil* time*")
_NOTHING = Notion("nothing", "^unused ^dummy*")


def tells_of_tracing(identifier: str) -> str:
    """A text that says when a function is traced: "compiling the graph"."""
    return _TRACING.in_name(identifier)


def names_debugging(identifier: str) -> str:
    """Something for debugging: `debug`, `profile_step`."""
    return _DEBUGGING.in_name(identifier)


def names_showing(identifier: str) -> str:
    """Something that shows values: `print_every`, `log_step`."""
    return _SHOWING.in_name(identifier)


def names_a_debug_switch(identifier: str) -> str:
    """A switch that is turned on for some time, to see or keep something: `debug`, `verbose`, `save_images`."""
    return _KEEPING.in_name(identifier) or names_debugging(identifier) or names_showing(identifier)


def names_telling(identifier: str) -> str:
    """A function that shows or sends text: `print`, `set_title`, `notify`."""
    return _TELLING.in_name(identifier) or names_showing(identifier)


def names_logging(identifier: str) -> str:
    """A function that logs what it gets: `log_metrics`; no logarithm, as `log_prob` is one."""
    return _LOGGING.in_name(identifier)


def names_a_picture(identifier: str) -> str:
    """A function that shows or saves a picture: `save_images`, `plot_losses`."""
    return _PICTURE.in_name(identifier)


def names_a_logger(identifier: str) -> str:
    """A logger: `logger`, `self.log`."""
    return _LOGGER.in_name(identifier)


def names_a_progress_bar(identifier: str) -> str:
    """A progress bar: `pbar`, `progress`."""
    return _BAR.in_name(identifier)


def names_watching(identifier: str) -> str:
    """A context that a `with` puts around code to observe it: `pytest.raises`, `timer`."""
    return _WATCHING.in_name(identifier)


def names_nothing(identifier: str) -> str:
    """A value that is not to be read: `_`, `unused_x`."""
    return "_" if identifier.startswith("_") else _NOTHING.in_name(identifier)
