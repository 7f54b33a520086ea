"""What users call things: which word each name goes by, and that no other file of the analysis or the rules goes by any."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tflint_perf.analysis import conventions
from tflint_perf.analysis.conventions import Notion, notions, words_of

ROOT = Path(__file__).parents[2]
CONVENTIONS = Path("tflint_perf/analysis/conventions.py")
FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("tflint_perf/analysis", "rules")
    for path in (ROOT / folder).rglob("*.py")
    if path.relative_to(ROOT) != CONVENTIONS
)
Predicate = Callable[[str], str]
PREDICATES: dict[str, Predicate] = {
    name: function
    for name, function in inspect.getmembers(conventions, inspect.isfunction)
    if function.__module__ == conventions.__name__ and name.startswith(("names_", "may_name_", "tells_"))
}

WORDS = {
    "train_step": "train_step",
    "trainStep": "train_step",
    "TrainStep2": "train_step_2",
    "_train__step_": "train_step",
    "BATCH_SIZE": "batch_size",
    "MSELoss": "mse_loss",
    "numGPUs": "num_gpus",
    "x1": "x_1",
    "self.replay.sample": "self_replay_sample",
    "größe": "größe",
    "_": "",
    "": "",
}
# The word that a name goes by, by predicate: in every spelling, and in the plural.
GOES_BY = {
    "names_a_batch": {"batch": "batch", "xBatch": "batch", "BATCH_XS": "batch", "n_batches": "batch", "nextbatch": "batch",
                      "unbatched_x": "", "batch_norm": "", "use_batchnorm": "", "rebatch_norm": "batch", "bath": ""},
    "names_a_batch_size": {"batch_size": "batch", "batchsize": "batchsize", "bs": "bs", "train_bs": "bs", "batches": "",
                           "num_batches": "", "obs": "", "BatchNormalization": ""},
    "names_the_batch_size": {"BATCH_SIZE": "batch_size", "train_batch_size": "train_batch_size", "test_batch_size": ""},
    "names_a_dataset": {"train_ds": "ds", "datasets": "dataset", "dataSet": "data_set", "ads": "", "dsl": ""},
    "names_a_stream": {"train_ds": "ds", "train_loader": "loader", "trainloader": "loader", "dataGen2": "gen", "datasets": "",
                       "loader_args": "", "oxygen": "gen"},
    "names_a_measure": {"batch_size": "size", "image_shape": "shape", "idx": "idx", "image": "", "ideas": "", "enumerated": ""},
    "names_a_label": {"y_train": "y", "num_classes": "class", "ys": "ys", "yaw": "", "ideal": "", "classifier": ""},
    "names_noise": {"noise": "noise", "z": "z", "latents": "latent", "encoder": "", "decoded": "", "size": ""},
    "names_a_file": {"path": "path", "imagePath": "path", "img_file": "file", "paths": "", "file_type": "", "profile": ""},
    "names_augmenting": {"augment": "augment", "random_flip": "flip", "RandomRotation": "rotat", "august": "",
                         "random_crop_flip": "", "denormal": ""},
    "names_shaping": {"parse_example": "parse", "toGray": "to", "tokenize": "", "torch_like": "", "reformatted": ""},
    "names_reading": {"cv2.imread": "imread", "env.step": "step", "load_image": "load", "thread": "", "upload": ""},
    "names_writing": {"saveState": "save", "np.savez": "save", "run": "run", "to_csv": "to_csv", "truncated_normal": ""},
    "names_a_wrapping_bar": {"tqdm": "tqdm", "tqdm_notebook": "tqdm_notebook", "progressBar": "progress_bar", "tqdm_config": "", "tracks": ""},
    "names_a_counting_bar": {"trange": "trange", "arange": "", "strange": ""},
    "names_an_epoch": {"epoch": "epoch", "maxEpochs": "epoch", "EPOCHS": "epoch", "ep": "ep", "n_episodes": "episode",
                       "epochal": "", "steps": "", "eps": ""},
    "names_a_counter": {"global_step": "step", "i": "i", "frame_idx": "frame", "new_idx": "idx", "itr": "itr", "epochs": "epoch", "is_training": "",
                        "discount": "", "idx_of": "", "stepped": ""},
    "names_training_data": {"train_ds": "train", "xTrain": "train", "training": "training", "contrast": "", "trainable": "",
                            "restrained": "", "trains": ""},
    "names_a_step": {"train_step": "train", "fit": "fit", "trainStep": "train", "outfit": "", "timestep": ""},
    "names_training": {"train": "train", "_train": "train", "train_one_epoch": "train_one_epoch", "train_batch": "",
                       "retrain_all": "", "learn": "learn", "learner": ""},
    "names_a_train_op": {"train_op": "train", "d_opt": "opt", "opt_op": "opt", "minimize_loss": "minimi", "apply_grads": "apply_grad",
                         "train_loss": "", "train_acc_op": "", "options": "", "adopt": "", "constraint": ""},
    "names_evaluation": {"val_ds": "val", "validate": "valid", "test_step": "test", "xTest": "test", "latest": "", "contest": "",
                         "values": "", "interval": "", "invalid": ""},
    "names_a_test": {"test_ds": "test", "testset": "test", "latest": "", "pytest": "", "attestation": ""},
    "names_the_best": {"best_loss": "best", "max_reward": "reward", "max_steps": "", "argmax": "", "records": "", "minutes": ""},
    "names_a_moment": {"done": "done", "lastSave": "last", "previous": "prev", "append": "", "blasted": "", "extend": ""},
    "names_enough": {"can_sample": "sampl", "ready_to_train": "train", "hasEnough": "enough", "exceeds": "exceeds", "can": "", "sampled": ""},
    "names_a_filling": {"size": "size", "max_size": "size", "ptr": "ptr", "length": "length", "seq_length": "", "sized": ""},
    "names_a_rank": {"rank": "rank", "local_rank": "local_rank", "is_main_process": "is_main", "matrix_rank": "", "ranking": ""},
    "names_a_model": {"model": "model", "target_net": "net", "Q_network": "network", "actor_target": "actor", "ddqn": "dqn",
                      "model2": "model", "model_dir": "", "policy_loss": "", "network_args": "", "net_worth": ""},
    "names_an_optimizer": {"opt": "opt", "d_optimizer": "optimizer", "optimizer_args": "", "adopt": "", "optional": ""},
    "names_a_schedule": {"ExponentialDecay": "decay", "LearningRateSchedule": "schedule", "decay": "", "lr_schedule": ""},
    "names_a_loss": {"gen_loss": "loss", "lossFn": "loss", "crossentropyloss": "loss", "criterion": "criterion", "gloss": "loss",
                     "lost": "", "los": ""},
    "names_one_loss": {"loss": "loss", "klLoss": "loss", "losses": "", "loss_fn": ""},
    "names_a_metric": {"val_acc": "acc", "accuracy": "accuracy", "f1_score": "score", "account": "", "underscored": ""},
    "names_a_figure": {"td_error": "error", "total_reward": "reward", "grad_norm": "norm", "loss": "loss", "normal": "",
                       "terrorist": "", "format": ""},
    "names_a_session": {"sess": "sess", "tfSession": "session", "self._sess": "sess", "session_config": "", "assess": ""},
    "names_a_tape": {"tape": "tape", "gen_tape": "tape", "gradienttape": "tape", "tap": ""},
    "names_a_number": {"learning_rate": "rate", "lr": "lr", "step": "step", "n": "n", "x_n": "", "image": "", "y": ""},
    "names_settings": {"args": "arg", "train_cfg": "cfg", "FLAGS": "flags", "model_config": "config", "flag": "", "argmax": "",
                       "configured_net": ""},
    "names_making": {"build_model": "build", "_make_net": "make", "loadModel": "load", "rebuild": "", "__init__": "", "net": ""},
    "names_device_setup": {"limit_gpu": "gpu", "init_session": "session", "set_devices": "device", "settings": "", "device": ""},
    "names_a_version": {"__version__": "version", "TF_VERSION": "version", "verse": ""},
    "names_a_part": {"num_layers": "layer", "n_heads": "head", "categories": "categor", "header": "", "image": ""},
    "names_much": {"n_samples": "sample", "seqLen": "seq", "T": "t", "tokens": "token", "tall": "", "context": ""},
    "names_layers": {"num_layers": "layers", "layer": "", "layers_of": ""},
    "names_agents": {"agents": "agents", "agent": "", "reagents": ""},
    "names_a_critic": {"n_critic": "critic", "TRAINING_RATIO": "training_ratio", "ratio": "", "disc_steps": "disc", "d_steps": "d_step", "n_d": "n_d", "discount": "", "critical": ""},
    "names_solving": {"odeint": "odeint", "eager_lbfgs": "lbfgs", "BurgersNet": "burgers", "ODEBlock": "ode", "model": "", "node": "", "encode": ""},
    "names_an_environment": {"env": "env", "train_envs": "env", "CartPoleEnv": "env", "environ": "", "envelope": ""},
    "names_a_memory": {"memory": "memor", "replay_buffer": "replay", "self.history": "history", "moment": "", "episodic": ""},
    "names_experience": {"memory": "memor", "env": "env", "images": ""},
    "names_remembering": {"remember": "remember", "store_transition": "transition", "addSample": "add_sample", "store": "", "remembered": ""},
    "names_a_state": {"next_state": "state", "obs_t": "obs", "s_": "s", "s2": "s", "is_s": "", "jobs": "", "statement": ""},
    "names_an_observation": {"next_state": "state", "obs": "obs", "state_size": "", "probs": ""},
    "names_a_reward": {"r": "r", "rewards": "reward", "x_r": "", "error": ""},
    "names_a_debug_switch": {"debug": "debug", "verbose": "verbose", "save_images": "save", "log_every": "log", "catalogue": "",
                             "unsaved": "", "backlog": ""},
    "names_debugging": {"debug_step": "debug", "profiler": "profil", "tracing": "tracing", "retracing": "", "bug": ""},
    "names_telling": {"print_fn": "print", "set_title": "title", "imshow": "show", "notify": "notify", "information": "", "dialog": ""},
    "names_logging": {"log_metrics": "log", "show_image": "show", "log": "", "log_prob": "", "log_softmax": "", "add_to_memory": "",
                      "record_transition": ""},
    "names_a_picture": {"plot_losses": "plot", "save_images": "save_image", "plot": "", "save_model": "", "replot_all": ""},
    "names_a_logger": {"logger": "logger", "self.log": "log", "run": "run", "blog": "", "log_dir": ""},
    "names_a_progress_bar": {"pbar": "bar", "progress": "progress", "bar": "bar", "barrier": "", "embark": ""},
    "names_watching": {"raises": "raises", "assertRaises": "raises", "Timer": "time", "RuntimeError": "", "raised": ""},
    "names_nothing": {"_": "_", "_x": "_", "unused": "unused", "dummyInput": "dummy", "x": "", "not_unused": ""},
    "names_a_generator": {"next_batch": "next_batch", "DataLoader": "loader", "get_batches": "batches", "dataset": "", "loaders": ""},
    "names_an_input": {"x": "x", "ys": "ys", "x_b": "x_b", "x_train": "", "fx_y": ""},
    "names_sampling": {"sample": "sample", "draw_batch": "draw", "replay": "replay", "withdraw": "", "example": ""},
    "names_drawing_a_batch": {"next_batch": "next_*batch", "get_minibatch_data": "get_*batch", "x_batch": "batch", "sample_memory": "memor", "num_batches": "",
                              "sample": "", "batch_norm": ""},
    "may_name_a_step": {"train": "train", "doStep": "step", "predict_on": "predict", "generate_images": "generat", "val": "val",
                        "latest": "", "stopped": ""},
    "names_initializing": {"init_op": "init", "global_variables_initializer": "init", "train_op": ""},
    "names_a_beginning": {"learning_starts": "learn", "warmup": "warm", "min_size": "min", "discriminator": "", "vmin": ""},
    "names_the_model": {"self.model": "model", "models": "", "net": ""},
    "names_a_meter": {"AverageMeter": "average", "lossmeter": "meter", "train_loss_avg": "avg", "averaged": "", "metre": ""},
    "names_no_batch": {"keep_prob": "keep", "is_training": "is", "lr": "lr", "loss": "loss", "images": "", "discuss": ""},
    "names_a_worker": {"conn": "conn", "self.remotes": "remote", "unconnected": "", "discount": ""},
    "names_showing": {"log_step": "log", "overprint": "print", "imshow": "show", "catalogue": ""},
    "tells_of_tracing": {"Tracing with x": "trac", "retraced": "retrac", "extracted": "", "building the subgraph": "graph", "recompiled": "compil", "train": ""},
}  # fmt: skip


@pytest.mark.parametrize(("identifier", "words"), WORDS.items())
def test_all_names_are_split_in_one_way(identifier: str, words: str) -> None:
    assert words_of(identifier) == words


@pytest.mark.parametrize(
    ("predicate", "identifier", "word"),
    [(name, identifier, word) for name, table in GOES_BY.items() for identifier, word in table.items()],
)
def test_says_by_which_word_a_name_goes(predicate: str, identifier: str, word: str) -> None:
    assert PREDICATES[predicate](identifier) == word


def test_every_predicate_has_a_docstring_and_a_row() -> None:
    assert PREDICATES
    assert all(predicate.__doc__ for predicate in PREDICATES.values())
    assert sorted(PREDICATES) == sorted(GOES_BY)


@pytest.mark.parametrize("notion", notions(), ids=lambda notion: notion.name)
def test_every_word_is_the_only_one_that_some_name_goes_by(notion: Notion) -> None:
    """No word of a notion says what another one says already."""
    for word in notion.words:
        plain = word.strip("^*!$").replace("*", "")
        names = [plain, plain + "x", plain + "_x", "x" + plain]
        said = [name for name in names if notion.in_name(name)]
        with notion.without(word):
            assert [name for name in said if not notion.in_name(name)], word


def test_a_word_can_be_switched_off_for_a_while() -> None:
    notion = Notion("a pass", "epoch round", unless="rounded")
    with notion.without("epoch"):
        assert [notion.in_name(name) for name in ("n_epochs", "rounds")] == ["", "round"]
    assert notion.in_name("n_epochs") == "epoch"


def test_a_notion_without_words_is_in_no_name() -> None:
    notion = Notion("a pass", "epoch")
    with notion.without("epoch"):
        assert notion.in_name("") == ""
        assert notion.in_name("epoch") == ""


def test_a_notion_tells_what_it_was_asked_about_since_it_was_to_forget() -> None:
    notion = Notion("a pass", "epoch")
    notion.in_name("steps")
    notion.forget()
    notion.in_name("n_epochs")
    notion.in_name("images")
    assert notion.asked == {"n_epochs": "epoch", "images": ""}


# Names that users chose are matched in no other file.

# Regular expressions without a dot in them, which is in the qualified names of libraries, and what they are for.
NOT_FOR_NAMES = {
    "tflint_perf/analysis/training/programs.py": "names of rows, in the bytes of files",
    "tflint_perf/analysis/apis/facts.py": "the names of rows",
    "tflint_perf/analysis/model.py": "the text of a file",
    "tflint_perf/analysis/pipelines/growth.py": "the name of a dataset of TensorFlow Datasets",
    "tflint_perf/analysis/execution/compiled.py": "what the texts of other modules call",
    "tflint_perf/analysis/pipelines/reads_without_op.py": "the text of a file",
    "tflint_perf/analysis/training/train_calls.py": "what the texts of other modules call",
    "tflint_perf/analysis/rewriting/structures.py": "names of Keras's classes",
    "tflint_perf/analysis/training/on_device.py": "the name of a device",
    "rules/eager/compiling.py": "comments",
    "rules/pipelines/chains.py": "white space",
    "rules/pipelines/links.py": "white space",
    "rules/precision/doubles.py": "the text of a file",
    "rules/precision/precision.py": "the text of a file",
    "rules/precision/tfp605_double_precision.py": "comments",
    "rules/tracing/tfp204_object_created_per_step.py": "the name of a new variable, made of a class's",
}
# Parts of names that are looked for in what is called or handed in by name, and whose they are.
OF_LIBRARIES = {
    ("tflint_perf/analysis/pipelines/distributed.py", "distribute"): "methods of strategies",
    ("tflint_perf/analysis/pipelines/growth.py", "nearest"): "a method of resizing",
    ("tflint_perf/analysis/pipelines/growth.py", "resize"): "ops of `tf.image`",
    ("tflint_perf/analysis/pipelines/stateful.py", "assign"): "methods of variables",
    ("rules/pipelines/tfp511_dataset_materialized.py", "assert"): "methods of test cases",
    ("rules/tracing/trace_time.py", "seed"): "arguments of ops",
}


def _expressions(tree: ast.Module) -> Iterator[str | None]:
    """The regular expressions of texts in a file; None for one that is made while the linter runs."""
    for call in ast.walk(tree):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=[ast.Constant(value=bytes()), *_]):
                continue  # the bytes of a file
            case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=[ast.Constant(value=str(text)), *_]):
                yield text
            case ast.Call(func=ast.Attribute(value=ast.Name("re"))):
                yield None


def _parts_of_names(tree: ast.Module) -> Iterator[str]:
    """The plain words that a file looks for in names: `"sess" in last_name(node)`, `function.name.startswith("test")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=words, ops=[ast.In() | ast.NotIn()], comparators=[where]):
                pass
            case ast.Call(func=ast.Attribute(value=where, attr="startswith" | "endswith"), args=[words]):
                pass
            case _:
                continue
        if _is_name_of_something(where):
            said = words.elts if isinstance(words, ast.Tuple | ast.List | ast.Set) else [words]
            texts = [word.value for word in said if isinstance(word, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and text.isalpha() and text.islower())


def _is_name_of_something(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr="lower" | "strip" | "lstrip" | "rstrip")):
            return _is_name_of_something(of)
        case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
            return _is_name_of_something(one) or _is_name_of_something(other)
        case ast.Call(func=ast.Name("last_name" | "callee_name" | "dotted_name")):
            return True
        case ast.Attribute(attr="name" | "value", value=of):
            return not (isinstance(of, ast.Name) and of.id == "field")
    return False


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_other_file_matches_what_users_call_things(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    expressions = [text for text in _expressions(tree) if text is None or r"\." not in text]
    assert not expressions or path.as_posix() in NOT_FOR_NAMES
    assert [part for part in _parts_of_names(tree) if (path.as_posix(), part) not in OF_LIBRARIES] == []


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ('"sess" in last_name(node).lower()', ["sess"]),
        ('"init" not in (callee_name(a) if a else last_name(b))', ["init"]),
        ('function.name.startswith(("test", "check"))', ["test", "check"]),
        ('name.value.endswith("loader")', ["loader"]),
        ('"tf." in dotted_name(node)', []),
        ('name.startswith("resize")', []),
        ('"loss" in names', []),
    ],
)
def test_sees_where_a_file_looks_for_parts_of_names(code: str, parts: list[str]) -> None:
    assert list(_parts_of_names(ast.parse(code))) == parts


@pytest.mark.parametrize(
    ("code", "expressions"),
    [
        ('re.compile("train|step", re.I)', ["train|step"]),
        ('re.search(r"tf\\.image", name)', [r"tf\.image"]),
        ("re.fullmatch(pattern, name)", [None]),
        ('re.compile(rb"import")', []),
        ('pattern.search("train")', []),
    ],
)
def test_sees_the_regular_expressions_of_a_file(code: str, expressions: list[str | None]) -> None:
    assert list(_expressions(ast.parse(code))) == expressions
