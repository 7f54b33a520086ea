"""TFP504 sequential-read."""

from __future__ import annotations

import pytest

from tests.rules.support import findings, fixed, flagged

CODE = "TFP504"
PREAMBLE = """\
import glob, os
import tensorflow as tf
from paths import find, size
files = tf.data.Dataset.list_files('data/*')
names = glob.glob('data/*')
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, PREAMBLE + source)]


SILENT = {
    "files whose records a person looks at, one by one": (
        "import cv2\ndef show(names):\n    ds = tf.data.TFRecordDataset(glob.glob(names)).map(parse)\n    for image in ds:\n"
        "        cv2.imshow('', image.numpy())\n        cv2.waitKey(0)"
    ),
    "words of texts that are in memory": (
        "texts = tf.data.Dataset.from_tensor_slices(['a b', 'c d'])\n"
        "words = texts.interleave(lambda x: tf.data.Dataset.from_tensor_slices(tf.strings.split(x)), cycle_length=2)"
    ),
    "files in their order, for predictions in that order": (
        "model = tf.keras.Sequential()\nds = tf.data.TFRecordDataset(sorted(names)).map(find).batch(8)\n"
        "model.predict(ds)"
    ),
    "a list that is sorted, for predictions elsewhere": (
        "def prediction_data():\n    picked = []\n    for name in names:\n        picked.append(name)\n    picked.sort()\n"
        "    return tf.data.TFRecordDataset(picked)"
    ),
    "files in their order, beside others that are interleaved": (
        "files = tf.data.Dataset.list_files('*', shuffle=False)\n"
        "if training:\n    data = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=4)\n"
        "else:\n    data = files.flat_map(tf.data.TFRecordDataset)"
    ),
    "records of which a few are looked at": (
        "records = tf.data.TFRecordDataset(['a', 'b'])\nfor raw in records.take(2):\n    print(raw)"
    ),
    "and that are parsed first": (
        "records = tf.data.TFRecordDataset(['a', 'b'])\nparsed = records.map(parse)\n"
        "for example in parsed.take(1):\n    print(example)"
    ),
    "records of which windows are made as they follow one another": (
        "records = tf.data.TFRecordDataset(['a', 'b']).map(parse)\n"
        "windows = records.window(6, shift=1).flat_map(lambda part: part.batch(6)).shuffle(9).batch(8)"
    ),
    "files one after the other, for windows": "files.flat_map(tf.data.TFRecordDataset).window(6).shuffle(9)",
    "one file, to look at": "files.take(1).flat_map(tf.data.TFRecordDataset)",
    "interleaved in parallel": "files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)",
    "by position": "files.interleave(tf.data.TFRecordDataset, 4, 1, 4)",
    "one input at a time on purpose": "files.interleave(tf.data.TFRecordDataset, cycle_length=1)",
    "arguments that are not in sight": "files.interleave(tf.data.TFRecordDataset, **options)",
    "generators, of which one runs at a time": (
        "files.interleave(lambda f: tf.data.Dataset.from_generator(read, args=(f,), output_types=tf.string))"
    ),
    "inputs that a parallel map of their own works on": (
        "def opened(f):\n    return tf.data.TFRecordDataset(f).map(parse, num_parallel_calls=4).batch(8)\n"
        "files.interleave(opened)"
    ),
    "inputs that are read ahead": "files.interleave(lambda f: tf.data.TFRecordDataset(f).prefetch(4))",
    "Python code": (
        "def read(f):\n    x = tf.numpy_function(find, [f], tf.float32)\n    return tf.data.Dataset.from_tensors(x)\n"
        "files.interleave(read)"
    ),
    "an interleave of something else": "tracks.interleave(find)",
    "no arguments": "files.interleave()",
    "inside another stage's function": (
        "def read(d):\n    return tf.data.Dataset.list_files(d + '/*').interleave(tf.data.TextLineDataset)\n"
        "files.interleave(read, num_parallel_calls=4)"
    ),
    "one file": "tf.data.TFRecordDataset('a.tfrecord')",
    "one file in a list": "tf.data.TFRecordDataset(['a.tfrecord'])",
    "one file with a name": "name = 'a.tfrecord'\ntf.data.TFRecordDataset(name)",
    "one file of several": "tf.data.TFRecordDataset(names[0])",
    "names that are not in sight": "tf.data.TFRecordDataset(find('data'))\ntf.data.TFRecordDataset(filenames)",
    "a parameter": "def load(filenames):\n    return tf.data.TFRecordDataset(filenames)",
    "a parameter that is a file for one caller": (
        "def load(filenames):\n    return tf.data.TFRecordDataset(filenames)\nload(names)\nload('a')"
    ),
    "a parameter that somebody may hide": (
        "def load(filenames):\n    return tf.data.TFRecordDataset(filenames)\nload(names)\nload(*given)"
    ),
    "several on one way only": "picked = names if small else 'a'\ntf.data.TFRecordDataset(picked)",
    "the branch for one file": (
        "if len(names) > 1:\n    ds = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=4)\n"
        "else:\n    ds = tf.data.TFRecordDataset(names)"
    ),
    "where there is one file": "if len(names) == 1:\n    ds = tf.data.TFRecordDataset(names)",
    "behind a return for several": (
        "def load():\n    found = glob.glob('a*')\n    if len(found) >= 2:\n        return None\n"
        "    return tf.data.TFRecordDataset(found)"
    ),
    "several or one, as an option says": (
        "class Data:\n    def __init__(self, one):\n        self.names = names if one is None else [one]\n"
        "    def load(self):\n        return tf.data.TFRecordDataset(self.names)"
    ),
    "one file made a tensor": "tf.data.TFRecordDataset(tf.constant(['a']))",
    "one file for each of what is not in sight": "tf.data.TFRecordDataset(list(map(find, roots)))",
    "one of a loop": "for name in names:\n    tf.data.TFRecordDataset(name)",
    "files read in parallel": "tf.data.TFRecordDataset(names, num_parallel_reads=4)",
    "by position too": "tf.data.TextLineDataset(names, None, None, 4)",
    "files of an interleave": "files.interleave(lambda f: tf.data.TextLineDataset(f), num_parallel_calls=4)",
    "a list that is filled by hand": "picked = []\npicked.append('a')\ntf.data.TFRecordDataset(picked)",
    "one file that a function gives": "def main_file():\n    return 'a'\ntf.data.TFRecordDataset(main_file())",
    "a function that may give one file": (
        "def pick(one):\n    if one:\n        return 'a'\n    return names\ntf.data.TFRecordDataset(pick(True))"
    ),
    "a flat map of something else": "files.flat_map(lambda f: tf.data.Dataset.from_tensors(f))",
    "a flat map of windows": "tf.data.Dataset.range(9).window(3).flat_map(lambda w: w.batch(3))",
    "a flat map that skips each file's head": "files.flat_map(lambda f: tf.data.TextLineDataset(f).skip(1))",
    "a flat map of one file": "tf.data.Dataset.from_tensor_slices(['a']).flat_map(tf.data.TFRecordDataset)",
    "nothing": "",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_one_file_or_parallel_reads_are_left_alone(source: str) -> None:
    assert rows(source) == []


FLAGGED = {
    "windows of records that are shuffled before": (
        "tf.data.TFRecordDataset(['a', 'b']).map(parse).shuffle(99).window(6).batch(8)", [1]
    ),
    "a look at what is trained on, too": (
        "records = tf.data.TFRecordDataset(['a', 'b'])\nfor raw in records.take(2):\n    print(raw)\nlearn_from(records)",
        [1],
    ),
    "interleave": ("files.interleave(tf.data.TFRecordDataset)", [1]),
    "interleave by keyword": ("files.interleave(map_func=tf.data.TFRecordDataset, cycle_length=4)", [1]),
    "interleave with other arguments": ("files.interleave(tf.data.TFRecordDataset, 4, 16)", [1]),
    "interleave of a function that works in one thread": (
        "def opened(f):\n    return tf.data.TFRecordDataset(f).map(parse).batch(8)\nfiles.interleave(opened)", [3]
    ),
    "interleave of a function": ("files.shuffle(9).interleave(lambda f: tf.data.TextLineDataset(f).skip(1)).batch(3)", [1]),
    "interleave of a function from elsewhere": ("files.interleave(find)", [1]),
    "a list": ("tf.data.TFRecordDataset(['a', 'b'])", [1]),
    "a list that a loop fills": (
        "picked, others = [], []\nfor n in os.listdir('data'):\n    if 'train' in n:\n        picked.append('data/' + n)\n"
        "    else:\n        others.append('data/' + n)\ntf.data.TFRecordDataset(picked)",
        [7],
    ),
    "a list of what several patterns match": (
        "picked = []\npicked.extend(glob.glob('a*'))\npicked += glob.glob('b*')\ntf.data.TFRecordDataset(picked)",
        [4],
    ),
    "what a function gives": ("def find_all():\n    return sorted(names)\ntf.data.TFRecordDataset(find_all())", [3]),
    "what an object keeps": (
        "class Data:\n    def __init__(self, folder):\n        self.files = list()\n"
        "        for root, _, found in os.walk(folder):\n            for name in found:\n"
        "                self.files.append(os.path.join(root, name))\n"
        "    def train_files(self):\n        return self.files\n"
        "class Trainer:\n    def __init__(self, data):\n        self.data = data\n"
        "    def build(self):\n        return tf.data.TFRecordDataset(self.data.train_files())\n"
        "Trainer(Data('data')).build()",
        [13],
    ),
    "interleave on the line of the name": ("files.interleave(\n    lambda f: tf.data.TextLineDataset(f).skip(1),\n)", [1]),
    "a pattern": ("tf.data.TFRecordDataset(names)", [1]),
    "a pattern, sorted": ("tf.data.TFRecordDataset(sorted(glob.glob('*')))", [1]),
    "sorted files to evaluate on": (
        "model = tf.keras.Sequential()\ntest = tf.data.TFRecordDataset(sorted(names)).map(find).batch(8)\n"
        "model.evaluate(test)",
        [2],
    ),
    "files in no order, for predictions": (
        "model = tf.keras.Sequential()\nds = tf.data.TFRecordDataset(names).map(find).batch(8)\nmodel.predict(ds)",
        [2],
    ),
    "TensorFlow's own glob": ("tf.data.TextLineDataset(tf.io.gfile.glob('*'))", [1]),
    "a path's glob": ("from pathlib import Path\ntf.data.TFRecordDataset([str(p) for p in Path('a').glob('*')])", [2]),
    "a folder": ("tf.data.TFRecordDataset([os.path.join('a', f) for f in os.listdir('a')])", [1]),
    "a dataset of names": ("tf.data.TFRecordDataset(files)", [1]),
    "some of a list": ("tf.data.TFRecordDataset(names[:9])", [1]),
    "two lists": ("tf.data.TFRecordDataset(names + find('b'))", [1]),
    "a keyword": ("tf.data.TFRecordDataset(filenames=names, compression_type='GZIP')", [1]),
    "an attribute": (
        "class Data:\n    def __init__(self):\n        self.names = glob.glob('*')\n"
        "    def load(self):\n        return tf.data.TFRecordDataset(self.names)",
        [5],
    ),
    "the branch for several": ("if len(names) > 1:\n    ds = tf.data.TFRecordDataset(names)", [2]),
    "the other branch of another question": (
        "if len(names) > 100:\n    print('many')\nelse:\n    ds = tf.data.TFRecordDataset(names)",
        [4],
    ),
    "behind a return for none": (
        "def load():\n    found = glob.glob('a*')\n    if not len(found):\n        return None\n"
        "    return tf.data.TFRecordDataset(found)",
        [5],
    ),
    "two lists that an object keeps, where they are asked for": (
        "class Data:\n    def __init__(self, cats, dogs):\n        self.cats = glob.glob(cats) if cats != None else []\n"
        "        self.dogs = glob.glob(dogs) if dogs != None else []\n"
        "    def load(self):\n        both = self.cats + self.dogs\n        return tf.data.TFRecordDataset(both)",
        [7],
    ),
    "paths made strings": (
        "from pathlib import Path\ntf.data.TFRecordDataset(list(map(str, Path('a').glob('*'))))",
        [2],
    ),
    "names in natural order": ("from natsort import natsorted\ntf.data.TFRecordDataset(natsorted(names))", [2]),
    "shuffled names": ("tf.data.TFRecordDataset(tf.random.shuffle(tf.io.gfile.glob('a*')))", [1]),
    "an array of names": ("import numpy as np\ntf.data.TFRecordDataset(np.array(names))", [2]),
    "a parameter": ("def load(files):\n    return tf.data.TFRecordDataset(files)\nload(names)\nload(['a', 'b'])", [2]),
    "a flat map": ("files.flat_map(tf.data.TFRecordDataset)", [1]),
    "a flat map of shuffled names": ("files.shuffle(9).repeat().flat_map(lambda f: tf.data.TextLineDataset(f))", [1]),
    "a flat map over a list": ("tf.data.Dataset.from_tensor_slices(names).flat_map(tf.data.TFRecordDataset)", [1]),
    "in a for": ("for epoch in range(9):\n    ds = files.interleave(tf.data.TFRecordDataset)", [2]),
    "in a while": ("while True:\n    ds = files.interleave(tf.data.TFRecordDataset)", [2]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_several_files_read_in_one_thread_are_flagged(source: str, expected: list[int]) -> None:
    assert rows(source) == expected


@pytest.mark.parametrize("loop", ["for epoch in range(9):", "while running:"])
@pytest.mark.parametrize(
    ("imports", "data"),
    [
        ("import tensorflow as tf", "tf.data."),
        ("import tensorflow", "tensorflow.data."),
        ("from tensorflow import data", "data."),
        ("from tensorflow.data import Dataset, TFRecordDataset", ""),
        ("import tensorflow.data as td", "td."),
        ("import tensorflow.compat.v1 as tf", "tf.data."),
        ("import tensorflow.compat.v2 as tf", "tf.data."),
        ("from tensorflow.compat import v1 as tf", "tf.data."),
    ],
)
def test_readers_are_known_through_every_import_in_every_loop(imports: str, data: str, loop: str) -> None:
    source = (
        f"{imports}\n{loop}\n    {data}Dataset.list_files('*').interleave({data}TFRecordDataset)\n"
        f"    {data}TFRecordDataset(['a', 'b'])\n    {data}Dataset.list_files('*').flat_map({data}TFRecordDataset)\n"
    )
    assert flagged(CODE, source) == [3, 4, 5]


HEAD = "import glob\nimport tensorflow as tf\nfiles = tf.data.Dataset.list_files('*')\n"
FIXES = {
    "interleave": (
        "ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4).batch(3)\n",
        "ds = files.interleave(\n    tf.data.TFRecordDataset,\n    cycle_length=4,\n    num_parallel_calls=tf.data.AUTOTUNE,\n"
        ").batch(3)\n",
    ),
    "interleave on several lines": (
        "ds = files.interleave(\n    tf.data.TFRecordDataset,\n    cycle_length=4,  # files\n)\n",
        "ds = files.interleave(\n    tf.data.TFRecordDataset,\n    cycle_length=4,  # files\n"
        "    num_parallel_calls=tf.data.AUTOTUNE,\n)\n",
    ),
    "a reader": (
        "ds = tf.data.TFRecordDataset(glob.glob('*'))\n",
        "ds = tf.data.TFRecordDataset(glob.glob('*'), num_parallel_reads=tf.data.AUTOTUNE)\n",
    ),
    "a flat map": (
        "ds = files.flat_map(tf.data.TFRecordDataset)  # all\n",
        "ds = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)  # all\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_several_threads_read(before: str, after: str) -> None:
    assert fixed(CODE, HEAD + before) == HEAD + after


@pytest.mark.parametrize("after", [after for _, after in FIXES.values()], ids=FIXES.keys())
def test_what_was_fixed_is_left_alone(after: str) -> None:
    assert flagged(CODE, HEAD + after) == []


SAFE = {
    "a cycle length, which keeps the order": (
        "tf.data.Dataset.range(4).interleave(lambda n: tf.data.Dataset.range(n), cycle_length=4)",
        True,
    ),
    "files, which may be written meanwhile": (
        "files.interleave(tf.data.TFRecordDataset, cycle_length=4)",
        False,
    ),
    "no cycle length": ("files.interleave(tf.data.TFRecordDataset)", False),
    "a function from elsewhere": ("files.interleave(find, cycle_length=4)", False),
    "a function from elsewhere that reads by its name": (
        "from records import read\nfiles.interleave(read, cycle_length=4)",
        False,
    ),
    "a function that shuffles": (
        "files.interleave(lambda f: tf.data.TFRecordDataset(f).shuffle(9), 4)",
        False,
    ),
    "interleave where the order is given up": (
        "options = tf.data.Options()\noptions.deterministic = False\nfiles.interleave(tf.data.TFRecordDataset, 4)",
        False,
    ),
    "a reader": ("tf.data.TFRecordDataset(['a', 'b'])", False),
    "a flat map": ("files.flat_map(tf.data.TFRecordDataset)", False),
}


@pytest.mark.parametrize(("source", "safe"), SAFE.values(), ids=SAFE.keys())
def test_the_fix_is_safe_where_the_elements_keep_their_order(source: str, safe: bool) -> None:
    (finding,) = findings(CODE, PREAMBLE + source)
    assert finding.fix is not None
    assert finding.fix.safe is safe


def test_a_split_behind_the_files_depends_on_their_order() -> None:
    source = (
        PREAMBLE
        + "data = tf.data.TFRecordDataset(['a', 'b'])\ntest, train = data.take(100), data.skip(100)\n"
    )
    (finding,) = findings(CODE, source + "for x in train:\n    learn(x)\nfor x in test:\n    check(x)\n")
    assert finding.fix is not None
    assert finding.fix.message.endswith(
        "may change the order of the elements, and so what `skip` and `take` give"
    )


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("if __name__ == '__main__':\n    tf.enable_eager_execution()\n", "4"),
        ("noise = tf.contrib.layers.flatten(x)\n", "4"),
        ("if old:\n    tf.enable_eager_execution()\n", "tf.data.AUTOTUNE"),
        ("", "tf.data.AUTOTUNE"),
    ],
)
def test_names_the_argument_as_the_file_s_tensorflow_has_it(start: str, name: str) -> None:
    [finding] = findings(CODE, f"import tensorflow as tf\n{start}tf.data.TFRecordDataset(['a', 'b'])\n")
    assert f"add `num_parallel_reads={name}`" in finding.message


COPIED = """
ds = tf.data.TFRecordDataset(glob.glob('*')).map(parse)
count = 0
for image in ds:
    count += 1
with tf.io.TFRecordWriter('all') as writer:
    for image in ds.shuffle(count):
        for angle in range(4):
            writer.write(example(tf.image.rot90(image, angle)))
"""


def test_no_training_waits_for_what_a_program_writes_to_a_file() -> None:
    assert rows(COPIED) == []
    assert rows(COPIED + "tf.keras.models.load_model('m').fit(ds)\n") == [2]
    assert rows(COPIED.replace("writer.write(example", "learn(prepare")) == [2]
    assert rows("def records():\n    return tf.data.TFRecordDataset(glob.glob('*'))\n" + COPIED) == [2]
