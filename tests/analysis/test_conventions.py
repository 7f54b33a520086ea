"""What users call things: which word each name goes by, and that no other file of the analysis or the rules goes by any."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from tflint_perf.analysis import conventions
from tflint_perf.analysis.conventions import words_of

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
    if name.startswith(("names_", "may_name_", "tells_"))
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
    "names_augmenting": {"augment": "augment", "random_flip": "flip", "RandomRotation": "rotat", "august": "august"[:0],
                         "random_crop_flip": "", "denormal": ""},
    "names_shaping": {"parse_example": "parse", "toGray": "to", "tokenize": "", "torch_like": "", "reformatted": ""},
    "names_reading": {"cv2.imread": "imread", "env.step": "step", "load_image": "load", "thread": "", "upload": ""},
    "names_writing": {"saveState": "save", "np.savez": "save", "run": "run", "to_csv": "to_csv", "truncated_normal": ""},
    "names_an_epoch": {"epoch": "epoch", "maxEpochs": "epoch", "EPOCHS": "epoch", "ep": "ep", "n_episodes": "episode",
                       "epochal": "", "steps": "", "eps": ""},
    "names_a_counter": {"global_step": "step", "i": "i", "frame_idx": "frame", "new_idx": "idx", "itr": "itr", "epochs": "epoch", "is_training": "",
                        "discount": "", "idx_of": "", "stepped": ""},
    "names_training_data": {"train_ds": "train", "xTrain": "train", "training": "training", "contrast": "", "trainable": "",
                            "restrained": "", "trains": ""},
    "names_a_step": {"train_step": "train", "fit": "fit", "trainStep": "train", "outfit": "", "timestep": ""},
    "names_training": {"train": "train", "_train": "train", "train_one_epoch": "train_one_epoch", "train_batch": "",
                       "retrain_all": "", "learn": "learn", "learner": ""},
    "names_a_train_op": {"train_op": "train", "d_opt": "opt", "minimize_loss": "minimi", "apply_grads": "apply_grad",
                         "train_loss": "", "train_acc_op": "", "options": "", "adopt": "", "constraint": ""},
    "names_evaluation": {"val_ds": "val", "validate": "valid", "test_step": "test", "xTest": "test", "latest": "", "contest": "",
                         "values": "", "interval": "", "invalid": ""},
    "names_a_test": {"test_ds": "test", "testset": "test", "latest": "", "pytest": "", "attestation": ""},
    "names_the_best": {"best_loss": "best", "max_reward": "max", "argmax": "", "records": "", "minutes": ""},
    "names_a_moment": {"done": "done", "lastSave": "last", "previous": "prev", "append": "", "blasted": "", "extend": ""},
    "names_enough": {"can_sample": "can_sample", "hasEnough": "enough", "exceeds": "exceeds", "can": "", "sampled": ""},
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
    "names_a_critic": {"n_critic": "critic", "disc_steps": "disc", "d_steps": "d_step", "n_d": "n_d", "discount": "", "critical": ""},
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
