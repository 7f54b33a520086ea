"""What users call things."""

from __future__ import annotations

import re

# Names of numbers that a step is given besides its batch.
_A_SETTING = re.compile(
    r"(?i)rate|eps|alpha|beta|gamma|lambda|sigma|step|epoch|temperature|weight|coef|scale|index|^lr$|^[nk]$|num|(?<!dis)count|(^|_)size"
)


def names_a_setting(identifier: str) -> str:
    return _word(_A_SETTING.search(identifier))


# What the variable is called that holds a batch, where nothing else says what it holds.
_A_FED_BATCH = re.compile(r"(^|_)(mini)?batch(_|$)|^(x|y|xs|ys|x_?b|y_?b)$", re.I)


def names_a_fed_batch(identifier: str) -> str:
    return _word(_A_FED_BATCH.search(identifier))


# What is called so is no batch but a number about it.
_A_MEASURE_OF_A_BATCH = re.compile(r"size|num|len|count|ind(ex|ic)|idx|rate|norm|step", re.I)


def names_a_measure_of_a_batch(identifier: str) -> str:
    return _word(_A_MEASURE_OF_A_BATCH.search(identifier))


# What a number or a switch is called that a graph is given besides its batch, or that it writes to a log.
_A_FED_SETTING = re.compile(
    r"prob|drop|keep|rate|^lr$|_lr$|lr_|learning|train|phase|mode|handle|flag|^is_|eps|alpha|beta|gamma|lambda|sigma|temp|step|epoch|iter|size|len|num|count|weight|coef|scale|reward|score|loss|acc|mean|avg|average|std|max|min|total|sum|summ|metric|value|name|path|file|str|seed|decay|momentum",
    re.I,
)


def names_a_fed_setting(identifier: str) -> str:
    return _word(_A_FED_SETTING.search(identifier))


# Functions that by their names train nothing.
_EVALUATING = re.compile(r"eval|test|valid|(^|_)val(_|$)|infer|predict|accuracy|score|metric|measure", re.I)


def names_evaluating(identifier: str) -> str:
    return _word(_EVALUATING.search(identifier))


# A helper or module of another file that, by its name, may be what sets up the devices.
_DEVICE_SETUP = re.compile(
    r"gpu|cuda|memory_?growth|allow_?growth|limit_?mem|(config|set|init|select|pick|prepare)\w*_?(devices?|sess(ion)?|hardware|accelerators?)(_|$)",
    re.I,
)


def names_device_setup(identifier: str) -> str:
    return _word(_DEVICE_SETUP.search(identifier))


_MAKING = re.compile(r"(build|create|make|load|get|define|new|init|clone|restore)|[A-Z]")


def names_making(identifier: str) -> str:
    return _word(_MAKING.match(identifier))


_EPOCHS = re.compile(r"(^|_)epochs?$", re.I)


def names_epochs(identifier: str) -> str:
    return _word(_EPOCHS.search(identifier))


_TRAINING_DATA = re.compile(r"(^|_)train(ing)?(_|$)", re.I)


def names_training_data(identifier: str) -> str:
    return _word(_TRAINING_DATA.search(identifier))


# What such functions are called in libraries that nobody here knows, and what waits for something.
_READING = re.compile(
    r"(^|_|\.)(i?m?read|load|open|fetch|query|execute|recv|request|download|sleep|step|reset|iter(rows|tuples|items))",
    re.I,
)


def names_reading(identifier: str) -> str:
    return _word(_READING.search(identifier))


_A_DATASET = re.compile(r"(^|_)(ds|dataset)s?(_|$)", re.I)


def names_a_dataset(identifier: str) -> str:
    return _word(_A_DATASET.search(identifier))


_A_VERSION = re.compile(r"version|hasattr|getattr", re.I)


def names_a_version(identifier: str) -> str:
    return _word(_A_VERSION.search(identifier))


_A_LOSS_FUNCTION = re.compile(r"loss|(^|_)(bce|mse|criterion)($|_)", re.I)


def names_a_loss_function(identifier: str) -> str:
    return _word(_A_LOSS_FUNCTION.search(identifier))


_COMPUTING = re.compile(
    r"loss|criterion|accuracy|metric|(^|_)(model|net|network|generator|discriminator|encoder|decoder|actor|critic)($|_)",
    re.I,
)


def names_computing(identifier: str) -> str:
    return _word(_COMPUTING.search(identifier))


_A_GENERATOR = re.compile(
    r"(^|_)(generator|gen|loader|batches|(next|load|get)_batch|iterate_minibatches)$", re.I
)


def names_a_generator(identifier: str) -> str:
    return _word(_A_GENERATOR.search(identifier))


# What gives batches, or samples, goes by one of these names, where nothing else is known of it.
_A_STREAM = re.compile(r"(^|_)(ds|dataset|(data)?_?(loader|generator|gen|iterator)|batches)$", re.I)


def names_a_stream(identifier: str) -> str:
    return _word(_A_STREAM.search(identifier))


_AN_EPOCH = re.compile(r"(^|_)(epochs?|ep|episodes?)(_|$)", re.I)


def names_an_epoch(identifier: str) -> str:
    return _word(_AN_EPOCH.search(identifier))


# What reinforcement learning remembers.
_EXPERIENCE = re.compile(
    r"memory|memor|buffer|replay|rollout|trajector|transition|experience|episode|history|(^|_)env", re.I
)


def names_experience(identifier: str) -> str:
    return _word(_EXPERIENCE.search(identifier))


_A_DEBUG_SWITCH = re.compile(
    r"(^|_)(debug|verbose|profil\w*|trace|dry_run|log\w*|should_log|print\w*|summar\w*|visuali\w*|plot)($|_)",
    re.I,
)


def names_a_debug_switch(identifier: str) -> str:
    return _word(_A_DEBUG_SWITCH.search(identifier))


_THE_BEST = re.compile(r"(^|_)(best|lowest|highest|max|min|record|smallest|largest)(_|$)", re.I)


def names_the_best(identifier: str) -> str:
    return _word(_THE_BEST.search(identifier))


# What counts the parts of a model, of which there are few: a loop to such a number runs over layers.
_PARTS = re.compile(
    r"(^|_)(layer|block|head|level|scale|stage|stack|gpu|tpu|replica|worker|device|class|categor\w*|routing|depth|fold|channel|chan|dim|axis|axes|ndim|rank|group|branch|cell|model|expert|order|coupling|flow|hop|view|output|input|net|critic|disc\w*|module|tower|anchor|conv|resblock|flip|repeat|res|unit|capsule|agent|player|task|qubit|wire|feature|param|variable|var|weight|column|mixture|component|kernel|loss|head|label)(e?s)?($|_)|(layers|blocks|heads)$",
    re.I,
)


def names_parts(identifier: str) -> str:
    return _word(_PARTS.search(identifier))


# What counts time or data, of which there is much.
_MUCH = re.compile(
    r"(^|_)(step|iter|iteration|len|length|time|timestep|seq|sequence|horizon|sample|frame|episode|epoch|round|batch|batchsize|size|point|token|row|example|itr|word|n_iter|maxlen|rollout|T)(s?)($|_)",
    re.I,
)


def names_much(identifier: str) -> str:
    return _word(_MUCH.search(identifier))


# What holds the settings of a program.
_SETTINGS_AT_THE_END = re.compile(
    r"(^|_)(args?|conf|cfg|config\w*|flags|hparams?|hps?|params|opts?|options?|settings?)$", re.I
)


def names_settings_at_the_end(identifier: str) -> str:
    return _word(_SETTINGS_AT_THE_END.search(identifier))


# Functions that by their name are there for debugging.
_DEBUGGING = re.compile(r"debug|eager|profil|trac(e|ing)(_|$)|test|diagnos", re.I)


def names_debugging(identifier: str) -> str:
    return _word(_DEBUGGING.search(identifier))


# Settings that say how many layers a model has.
_LAYERS = re.compile(r"(^|_)(layers|blocks)$", re.I)


def names_layers(identifier: str) -> str:
    return _word(_LAYERS.search(identifier))


_AGENTS = re.compile(r"(^|_)agents$", re.I)


def names_agents(identifier: str) -> str:
    return _word(_AGENTS.search(identifier))


# Settings that say how often a critic is trained for each step of its generator.
_STEPS_OF_CRITICS = re.compile(
    r"(^|_)(critics?|disc|dis|discriminators?)(_|$)|(^|_)d_(steps?|iters?|iterations?|updates?)$|^n_?d$", re.I
)


def names_steps_of_critics(identifier: str) -> str:
    return _word(_STEPS_OF_CRITICS.search(identifier))


# What the name of a file goes by.
_A_FILE = re.compile(r"(^|_)(path|file|file_?name|fname)$", re.I)


def names_a_file(identifier: str) -> str:
    return _word(_A_FILE.search(identifier))


# A list that is filled with the samples of one batch.
_A_COLLECTED_BATCH = re.compile(r"(^|_)(mini)?batch(es)?(_|$)", re.I)


def names_a_collected_batch(identifier: str) -> str:
    return _word(_A_COLLECTED_BATCH.search(identifier))


_A_MEASURE = re.compile(r"size|num|len|count|ind(ex|ic)|idx|shape|batches|(^|_)(n|i|id|ids)(_|$)", re.I)


def names_a_measure(identifier: str) -> str:
    return _word(_A_MEASURE.search(identifier))


# What an agent is asked about: one observation, or one of each environment.
_AN_OBSERVATION = re.compile(r"(^|_)(obs|state|observation)s?$", re.I)


def names_an_observation(identifier: str) -> str:
    return _word(_AN_OBSERVATION.search(identifier))


# How long a batch is.
_A_BATCH_LENGTH = re.compile(r"batch_?(size|len(gth)?)$|(^|_)bs$", re.I)


def names_a_batch_length(identifier: str) -> str:
    return _word(_A_BATCH_LENGTH.search(identifier))


_A_BATCH_SIZE = re.compile(r"batch|(^|_)bs$", re.I)


def names_a_batch_size(identifier: str) -> str:
    return _word(_A_BATCH_SIZE.search(identifier))


_DRAWING_A_BATCH = re.compile(
    r"(^|_|mini)batch$|^(next|sample|get|load|generate|make|random|fetch)_(mini)?batch|^sample_(from_)?(memory|(replay_)?buffer|transitions?|experiences?)$"
)


def names_drawing_a_batch(identifier: str) -> str:
    return _word(_DRAWING_A_BATCH.search(identifier))


_A_MEMORY_OR_BATCH = re.compile(r"memory|buffer|replay|batch", re.I)


def names_a_memory_or_batch(identifier: str) -> str:
    return _word(_A_MEMORY_OR_BATCH.search(identifier))


_A_MEMORY = re.compile(r"memory|buffer|replay", re.I)


def names_a_memory(identifier: str) -> str:
    return _word(_A_MEMORY.search(identifier))


_REMEMBERING = re.compile(
    r"^(remember|memorize|observe|cache|(store|add|save|append)(_to)?_(transition|experience|memory|sample)s?)$"
)


def names_remembering(identifier: str) -> str:
    return _word(_REMEMBERING.search(identifier))


_A_REWARD = re.compile(r"^r$|reward", re.I)


def names_a_reward(identifier: str) -> str:
    return _word(_A_REWARD.search(identifier))


_A_STATE = re.compile(r"^s_?$|state|obs", re.I)


def names_a_state(identifier: str) -> str:
    return _word(_A_STATE.search(identifier))


# What a connection to a process goes by that steps an environment.
_A_WORKER = re.compile(r"conn|remote|pipe|worker", re.I)


def names_a_worker(identifier: str) -> str:
    return _word(_A_WORKER.search(identifier))


_AN_ENVIRONMENT = re.compile(r"^_*(train_|eval_|test_)?envs?(ironment)?$", re.I)


def names_an_environment(identifier: str) -> str:
    return _word(_AN_ENVIRONMENT.match(identifier))


_SAMPLING = re.compile(r"sample|batch|draw|replay", re.I)


def names_sampling(identifier: str) -> str:
    return _word(_SAMPLING.search(identifier))


_A_COUNTER = re.compile(
    r"(^|_)(global_?)?(steps?|iters?|iterations?|itr|frames?|timesteps?|t|i|n_?updates?|episodes?|epochs?|ep)(_|$)|count|_idx$",
    re.I,
)


def names_a_counter(identifier: str) -> str:
    return _word(_A_COUNTER.search(identifier))


_SETTINGS = re.compile(
    r"^_*(args?|flags|config|cfg|opts?|options|hparams?|hps?|params?|conf|settings|hyper\w*|self)$", re.I
)


def names_settings(identifier: str) -> str:
    return _word(_SETTINGS.match(identifier))


# Flags that are there to be turned on for a while.
_A_SWITCH = re.compile(
    r"debug|verbose|log|print|summar|visuali|plot|profil|trace|show|display|render|save|done|first|last|best|end|stop|finish|test|valid|eval",
    re.I,
)


def names_a_switch(identifier: str) -> str:
    return _word(_A_SWITCH.search(identifier))


# What memories have that say so.
_ENOUGH = re.compile(
    r"_*(can|may)_(be_)?(sampled?|learn|train|replay(ed)?)|(has_|have_|is_)?enough(_\w+)?|(is_)?(ready_(to|for)|sufficient)_(sampl|learn|train|replay)\w*|exceeds"
)


def names_enough(identifier: str) -> str:
    return _word(_ENOUGH.fullmatch(identifier))


_THE_BATCH_SIZE = re.compile(r"^(train_?|training_?|global_?)?batch_?size$", re.I)


def names_the_batch_size(identifier: str) -> str:
    return _word(_THE_BATCH_SIZE.match(identifier))


_A_BATCH = re.compile(r"batch", re.I)


def names_a_batch(identifier: str) -> str:
    return _word(_A_BATCH.search(identifier))


# A function of such a name gives another image of the same size, where nothing more is known of it.
_AUGMENTING = re.compile(
    r"^(?!.*(crop|resiz|patch|extract|feature))(\w+_)?(aug(?![a-z])|augment|distort|jitter|flip|noise|rotat|normali[sz]|standardi[sz])",
    re.I,
)


def names_augmenting(identifier: str) -> str:
    return _word(_AUGMENTING.search(identifier))


_A_LABEL = re.compile(r"(^|_)(y|lbl|label|target|class|cls|category|id)s?($|_|\d)", re.I)


def names_a_label(identifier: str) -> str:
    return _word(_A_LABEL.search(identifier))


# The few numbers that a generator of images starts from are no data.
_NOISE = re.compile(r"noise|latent|seed|code|(^|_)(z|eps(ilon)?)\d*($|_)", re.I)


def names_noise(identifier: str) -> str:
    return _word(_NOISE.search(identifier))


_THE_MODEL = re.compile(r"(^|_)model$")


def names_the_model(identifier: str) -> str:
    return _word(_THE_MODEL.search(identifier))


_A_STEP = re.compile(r"(^|_)(train|step|fit)")


def names_a_step(identifier: str) -> str:
    return _word(_A_STEP.search(identifier))


# So may functions of other files.
_MAY_NAME_A_STEP = re.compile(
    r"train|step|generat|infer|learn|optimi|update|translate|test|valid|forward", re.I
)


def may_name_a_step(identifier: str) -> str:
    return _word(_MAY_NAME_A_STEP.search(identifier))


# What goes by such a name takes an element apart or brings it into shape: it neither draws nor counts.
_SHAPING = re.compile(
    r"(?:^|_)(?i:as|cast|concat|convert|crop|decoder?|deserialize|drop|extract|filter|flatten|format|get|load|merge|normali[sz]e|one_hot|pad|parse|parser|pop|read|reader|rename|rescale|reshape|resize|scale|select|split|stack|standardi[sz]e|to|unpack)(?![a-z])"
)


def names_shaping(identifier: str) -> str:
    return _word(_SHAPING.search(identifier))


_EVALUATION = re.compile(
    r"(^|_)(val|valid|validation|test|testing|eval|evaluation|dev|infer|inference|predict)(\d|_|$)", re.I
)


def names_evaluation(identifier: str) -> str:
    return _word(_EVALUATION.search(identifier))


_AN_OPTIMIZER = re.compile(r"opt(im|imizer)?$", re.I)


def names_an_optimizer(identifier: str) -> str:
    return _word(_AN_OPTIMIZER.search(identifier))


_A_SCHEDULE = re.compile(r"Decay|Schedule|Restarts")


def names_a_schedule(identifier: str) -> str:
    return _word(_A_SCHEDULE.search(identifier))


_WRITING = re.compile(
    r"save|dump|write|to_(csv|json|pickle|hdf|parquet)|rename|replace|copy\w*|move|remove|system|run|Popen",
    re.I,
)


def names_writing(identifier: str) -> str:
    return _word(_WRITING.search(identifier))


_AN_UPDATE = re.compile(r"train|opt(im)?|solver|minimi[sz]e|update|step", re.I)


def names_an_update(identifier: str) -> str:
    return _word(_AN_UPDATE.search(identifier))


# What is measured of the training data, not done: `model.train_accuracy`.
_A_MEASURED_VALUE = re.compile(r"_(acc(uracy)?|loss(es)?|cost|metrics?|errors?|scores?|summar(y|ies))$", re.I)


def names_a_measured_value(identifier: str) -> str:
    return _word(_A_MEASURED_VALUE.search(identifier))


_A_SESSION = re.compile(r"(^|_)sess(ion)?$")


def names_a_session(identifier: str) -> str:
    return _word(_A_SESSION.search(identifier))


_SHOWING_PICTURES = re.compile(
    r"im(show|save|write)|savefig|save_?(image|img|fig|png|plot|result|sample|grid)s?|write(row|rows|lines|_?frame)?|append_data|tofile|set_(title|xlabel|ylabel|text|data|xdata|ydata|offsets)|scatter|plot|(show|plot|draw|display|visuali[sz]e|render)_\w+|savetxt|put_?text"
)


def names_showing_pictures(identifier: str) -> str:
    return _word(_SHOWING_PICTURES.fullmatch(identifier))


# Functions of other files that are called so log what they get: no logarithms, and nothing that decides.
_LOGGING = re.compile(
    r"(log|record|report|print|show|display|write|add_scalar|monitor|track)(_\w+|[a-z]?kv\w*|Metrics?|Scalars?)"
)


def names_logging(identifier: str) -> str:
    return _word(_LOGGING.fullmatch(identifier))


_NO_LOGGING = re.compile(
    r"log_(softmax|prob\w*|sigmoid|normal|likelihood|loss|pdf|cosh|sum\w*|gamma|det\w*|\d)|.*(memory|buffer|transition|experience)"
)


def names_no_logging(identifier: str) -> str:
    return _word(_NO_LOGGING.fullmatch(identifier))


_TELLING = re.compile(
    r"(?i)log|print|write|report|show|display|message|msg|echo|notify|status|info|title|label|send|post|debug"
)


def names_telling(identifier: str) -> str:
    return _word(_TELLING.search(identifier))


_A_TEXT = re.compile(r"postfix|suffix|desc|description|bar_format|caption|comment")


def names_a_text(identifier: str) -> str:
    return _word(_A_TEXT.fullmatch(identifier))


# Functions that get what a model gave and what it should have given.
_A_LOSS = re.compile(r"(?i)loss|criterion")


def names_a_loss(identifier: str) -> str:
    return _word(_A_LOSS.search(identifier))


# Classes that keep a running mean, and objects of them.
_A_METER = re.compile(r"(?i)meter|average|avg|running_?mean|tracker")


def names_a_meter(identifier: str) -> str:
    return _word(_A_METER.search(identifier))


# Methods of loggers, progress bars and writers, and what those usually go by.
_A_LOG_LEVEL = re.compile(r"(debug|info|warning|warn|error|critical|log|log_metrics?|log_scalars?)")


def names_a_log_level(identifier: str) -> str:
    return _word(_A_LOG_LEVEL.fullmatch(identifier))


_A_LOGGER = re.compile(r"log(ger|ging)?$|^_?log_?$|^run$|experiment|console", re.I)


def names_a_logger(identifier: str) -> str:
    return _word(_A_LOGGER.search(identifier))


_A_PROGRESS_BAR = re.compile(r"p_?bar|progress|bar$", re.I)


def names_a_progress_bar(identifier: str) -> str:
    return _word(_A_PROGRESS_BAR.search(identifier))


# How methods are called that train what they belong to; names of data, `train_batch`, are none of them.
_TRAINING = re.compile(
    r"_*(re|pre)?train(_(step|on_batch|epochs?|model|network|loop|agent|one_(step|epoch|batch)|and_\w+))?|(run|start|do)_train(ing)?|learn|optimi[sz]e(_model)?"
)


def names_training(identifier: str) -> str:
    return _word(_TRAINING.fullmatch(identifier))


_A_TRAIN_OP = re.compile(r"train|optim|minimi|solver|update|apply_grad", re.I)


def names_a_train_op(identifier: str) -> str:
    return _word(_A_TRAIN_OP.search(identifier))


# What is measured of the training data, not done: `model.train_accuracy`.
_A_MEASURE_OF_TRAINING = re.compile(
    r"_*train(ing)?_(\w+_)?(acc(uracy)?|loss(es)?|cost|metrics?|errors?|scores?|summar(y|ies)|mse|auc|f1)(_op)?",
    re.I,
)


def names_a_measure_of_training(identifier: str) -> str:
    return _word(_A_MEASURE_OF_TRAINING.fullmatch(identifier))


# A parameter of such a name, or what an object keeps of it, is a model where tensors are given to it.
_A_MODEL = re.compile(
    r"(\w+_)?(model|net|network|generator|discriminator|encoder|decoder|actor|critic|policy|classifier|backbone|student|teacher|d{1,3}qn)(_(target|online|main|local|eval|old|new|\d))?$",
    re.I,
)


def names_a_model(identifier: str) -> str:
    return _word(_A_MODEL.match(identifier))


# What an object keeps for people to look at: nothing goes by it on each step.
_A_VALUE_FOR_A_LOG = re.compile(r"(^|_)(loss|losses|grad_norm|entropy|kl|td_error|mse|mae)(_|$)|loss$", re.I)


def names_a_value_for_a_log(identifier: str) -> str:
    return _word(_A_VALUE_FOR_A_LOG.search(identifier))


_THE_LOSS = re.compile(r"(^|_)loss(_\w)?$", re.I)


def names_the_loss(identifier: str) -> str:
    return _word(_THE_LOSS.search(identifier))


_A_SCALAR = re.compile(
    r"loss|acc(uracy)?(_|$)|error|metric|reward|score|perplexity|entropy|norm(_|$)|elbo|mse|mae", re.I
)


def names_a_scalar(identifier: str) -> str:
    return _word(_A_SCALAR.search(identifier))


_A_SESSION_ALONE = re.compile(r"_*(sess|session)$")


def names_a_session_alone(identifier: str) -> str:
    return _word(_A_SESSION_ALONE.match(identifier))


_A_SESSION_SOMEHOW = re.compile(r"sess", re.I)


def names_a_session_somehow(identifier: str) -> str:
    return _word(_A_SESSION_SOMEHOW.search(identifier))


_A_FLOW = re.compile(r"gen|aug|train|val|test", re.I)


def names_a_flow(identifier: str) -> str:
    return _word(_A_FLOW.search(identifier))


_ANOTHER_TIME = re.compile(r"last|next|prev|best|since", re.I)


def names_another_time(identifier: str) -> str:
    return _word(_ANOTHER_TIME.search(identifier))


_A_BEGINNING = re.compile(r"start|warm|begin|learn|train|batch|init|min", re.I)


def names_a_beginning(identifier: str) -> str:
    return _word(_A_BEGINNING.search(identifier))


_A_FILLING = re.compile(r"size$|^(counter|cntr|ptr|mem_cntr|memory_counter|pointer|length|buffer_counter)$")


def names_a_filling(identifier: str) -> str:
    return _word(_A_FILLING.search(identifier))


_A_RANK = re.compile(r"(local_|global_|hvd_|world_)?rank|is_(chief|main\w*|master)")


def names_a_rank(identifier: str) -> str:
    return _word(_A_RANK.fullmatch(identifier))


_A_TAPE = re.compile(r"tape", re.I)


def names_a_tape(identifier: str) -> str:
    return _word(_A_TAPE.search(identifier))


_A_TEST = re.compile(r"test")


def names_a_test(identifier: str) -> str:
    return _word(_A_TEST.match(identifier))


_NOTHING = re.compile(r"_|unused|dummy")


def names_nothing(identifier: str) -> str:
    return _word(_NOTHING.match(identifier))


_WATCHING = re.compile(r"raises|profil|time", re.I)


def names_watching(identifier: str) -> str:
    return _word(_WATCHING.search(identifier))


_CRITICS = re.compile(r"critic|disc\w*", re.I)


def without_critics(identifier: str) -> str:
    return _CRITICS.sub("", identifier)


def _word(found: re.Match[str] | None) -> str:
    return found[0] if found is not None else ""
