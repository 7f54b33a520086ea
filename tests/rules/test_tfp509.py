"""TFP509 shuffle-after-decode."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP509"
PREAMBLE = """\
import cv2
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from features import extract
files = tf.data.Dataset.list_files("images/*.jpg")
records = tf.data.TFRecordDataset(paths)
slices = tf.data.Dataset.from_tensor_slices((x, y))
(x_train, y_train), _ = tf.keras.datasets.mnist.load_data()
def load(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))
def to_float(image):
    return tf.cast(image, tf.float32) / 255.0
def parse(record):
    return tf.io.parse_single_example(record, schema)
def decode(record):
    image = tf.io.decode_png(parse(record)["image"])
    return tf.image.resize(image, [224, 224])
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, module(source))]


SILENT = {
    "a buffer of a few photos": """
        ds = files.map(load).shuffle(40).batch(8)
        """,
    "what is joined behind the map, to be mixed": """
        def prepare(augment=True, buffer=1000):
            ds = files.map(load)
            if augment:
                ds = ds.concatenate(ds.map(lambda image: tf.image.flip_left_right(image)))
            return ds.shuffle(buffer).batch(32)
        model.fit(prepare())
        """,
    "an order that a cache keeps, which is to be moved": """
        kept = records.batch(32).shuffle(99).prefetch(16).cache()
        model.fit(kept, epochs=3)
        """,
    "a few small images in floats": """
        def f(image, label):
            return tf.cast(image, tf.float32) / 255., label
        ds = tfds.load("mnist", split="train", as_supervised=True).map(f).shuffle(1000).batch(32)
        """,
    "what a function makes for a look": """
        def prepare(training=True):
            ds = files.map(load)
            ds = ds.shuffle(1000) if training else ds
            return ds.batch(32)
        ds = prepare()
        batch = next(iter(ds))
        """,
    "decoded on one of two ways": """
        ds = records.map(decode) if kind == "images" else records.map(extract)
        ds = ds.shuffle(1000)
        """,
    "zipped datasets that are not in sight": """
        parts = []
        for seed in range(4):
            parts.append(slices.shuffle(100, seed=seed))
        ds = tf.data.Dataset.zip(tuple(parts)).map(mix)
        ds = ds.shuffle(100)
        """,
    "samples zipped with batches, which nobody knows the sense of": """
        pairs = tf.data.Dataset.zip((slices, slices.batch(32)))
        ds = pairs.shuffle(1000)
        """,
    "zipped sequences that are batched later": """
        pairs = tf.data.Dataset.zip((slices.batch(32), slices.batch(32)))
        ds = pairs.shuffle(1000).batch(8)
        """,
    "Python code from elsewhere": """
        def f(path):
            return tf.numpy_function(extract, [path], tf.float32)
        files.map(f).shuffle(1000).batch(32)
        """,
    "Python code that reads no image": """
        def count(path):
            return len(path)
        files.map(lambda path: tf.numpy_function(count, [path], tf.int64)).shuffle(1000).batch(32)
        """,
    "decoded records that are cut to an unknown size": """
        def cut(image):
            return tf.image.random_crop(image, [size, size, 3])
        records.map(decode).map(cut).shuffle(1000).batch(32)
        """,
    "a shuffle of file names": "files.shuffle(1000).map(load).batch(32)",
    "a shuffle of records": "records.shuffle(1000).map(decode).batch(32)",
    "a shuffle of arrays": "slices.shuffle(1000).batch(32)",
    "a map that parses": "records.map(parse).shuffle(1000).batch(32)",
    "a map that keeps the size": "slices.map(lambda x, y: (x * 2.0, y)).shuffle(1000).batch(32)",
    "a map of a function from elsewhere": "files.map(extract).shuffle(1000).batch(32)",
    "a function from elsewhere within": """
        def f(path):
            return extract(load(path))
        files.map(f).shuffle(1000).batch(32)
        """,
    "a statistic of the image": """
        def f(path):
            return tf.reduce_mean(load(path))
        files.map(f).shuffle(1000).batch(32)
        """,
    "features of the image": """
        model = tf.keras.applications.VGG16()
        files.map(lambda path: model(load(path))).shuffle(1000).batch(32)
        """,
    "a later map that makes it small": """
        files.map(load).map(lambda x: tf.reduce_mean(x)).shuffle(1000).batch(32)
        """,
    "one of two maps that only parses": """
        parse_one = decode if labeled else parse
        records.map(parse_one).shuffle(1000).batch(32)
        """,
    "one of two maps that is not in sight": "records.map(decode if labeled else extract).shuffle(1000).batch(32)",
    "a later map that is not in sight": "files.map(load).map(extract).shuffle(1000).batch(32)",
    "a later map that may cut, by its name": (
        "from images import augment_and_crop\nfiles.map(load).map(augment_and_crop).shuffle(1000).batch(32)"
    ),
    "features by a layer": """
        pool = tf.keras.layers.GlobalAveragePooling2D()
        files.map(load).map(lambda x: pool(x)).shuffle(1000).batch(32)
        """,
    "a cached dataset": "files.map(load).cache().shuffle(1000).batch(32)",
    "sequences in buckets, shuffled before": """
        bucket = tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [5, 15], [64, 64, 64])
        slices.shuffle(1000).apply(bucket)
        """,
    "what a function from elsewhere is applied to": "records.map(parse).apply(extract).shuffle(1000).batch(32)",
    "buckets that are taken apart again": """
        records.bucket_by_sequence_length(tf.size, [5, 15], [64, 64, 64]).unbatch().shuffle(1000).batch(32)
        """,
    "images that a file keeps": "files.map(load).cache('/tmp/cache').shuffle(1000)",
    "images that are kept unless a caller says otherwise": """
        def prepare(ds, keep=True):
            if keep:
                ds = ds.cache(keep) if isinstance(keep, str) else ds.cache()
            return ds.shuffle(1000).batch(32)
        model = tf.keras.Sequential()
        model.fit(prepare(files.map(load)))
        """,
    "a generator that is split into data for training and validation": """
        ds = tf.data.Dataset.from_generator(draw, output_signature=tf.TensorSpec((256, 256, 3)))
        train, validation = ds.skip(n), ds.take(n)
        train = train.shuffle(1000).batch(32)
        """,
    "one batch of all samples": """
        size = images.shape[0]
        ds = tf.data.Dataset.from_tensor_slices((images, labels)).batch(size).shuffle(len(images))
        model = tf.keras.Sequential()
        model.fit(ds)
        """,
    "batches of what the loader shuffles": """
        ds = tf.keras.utils.image_dataset_from_directory("images")
        model = tf.keras.Sequential()
        model.fit(ds.cache().shuffle(1000))
        """,
    "cached batches": "files.map(load).batch(32).cache().shuffle(1000)",
    "what is shuffled already": "files.shuffle(1000).map(load).shuffle(10).batch(32)",
    "records shuffled before they are decoded, and after": (
        "records.shuffle(1000).map(decode).repeat().shuffle(10).batch(32)"
    ),
    "a small image cut out of a file's bytes": """
        def f(record):
            return tf.image.resize(tf.io.decode_jpeg(record), (32, 32))
        records.map(f).shuffle(1000).batch(32)
        """,
    "a piece of unknown size": """
        def f(record):
            return tf.image.random_crop(tf.io.decode_jpeg(record), size)
        records.map(f).shuffle(1000).batch(32)
        """,
    "a piece of unknown size that is resized before": """
        def f(record):
            image = tf.image.resize(tf.io.decode_jpeg(record), [224, 224])
            image = tf.image.random_crop(image, size)
            return image
        records.map(f).shuffle(1000).batch(32)
        """,
    "another image that is resized later": """
        def f(record, mask):
            image = tf.image.random_crop(tf.io.decode_jpeg(record), size)
            mask = tf.image.resize(mask, [224, 224])
            return image, mask
        records.map(f).shuffle(1000).batch(32)
        """,
    "a small image in floats": """
        def f(record):
            return tf.cast(tf.image.resize(tf.io.decode_jpeg(record), (64, 64)), tf.float32)
        records.map(f).shuffle(1000).batch(32)
        """,
    "joined with images that were shuffled as names": """
        images = files.shuffle(1000).map(load)
        tf.data.Dataset.zip((images, slices)).shuffle(1000).batch(32)
        """,
    "joined with what is small": "tf.data.Dataset.zip((files, slices)).shuffle(1000).batch(32)",
    "a generator of rows": (
        "tf.data.Dataset.from_generator(draw, tf.float32, (tf.TensorShape([None, 3]), 1)).shuffle(99)"
    ),
    "a cached map in front of sequences": "slices.batch(batch_size).cache().shuffle(9).unbatch()",
    "a cast of numbers of unknown type": "slices.map(lambda x, y: (tf.cast(x, tf.float32), y)).shuffle(9)",
    "a cast of 8-bit numbers that makes no floats": """
        ds = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: tf.cast(x, tf.uint8)).shuffle(1000)
        """,
    "small crops of bytes": """
        def f(image):
            return tf.cast(tf.image.random_crop(image, [12, 12]), tf.float32)
        tf.data.Dataset.from_tensor_slices(x_train).map(f).shuffle(60000)
        """,
    "a label made a float": """
        def f(image, label):
            return image, tf.cast(label, tf.float32)
        tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(f).shuffle(60000)
        """,
    "a label of a dictionary made a float": """
        def f(features):
            return features["image"], tf.cast(features["label"], tf.float32)
        tfds.load("mnist", split="train").map(f).shuffle(60000)
        """,
    "floats that were made on the host": """
        x_train = x_train.astype("float32")
        tf.data.Dataset.from_tensor_slices(x_train).map(to_float).shuffle(60000)
        """,
    "floats by division on the host": """
        x_train = x_train / 255.0
        tf.data.Dataset.from_tensor_slices(x_train).map(to_float).shuffle(60000)
        """,
    "photographs made small": """
        def f(image, label):
            return tf.image.resize(tf.cast(image, tf.float32) / 255.0, [64, 64]), label
        tfds.load("cats_vs_dogs", split="train", as_supervised=True).map(f).shuffle(1000)
        """,
    "bytes that an earlier map made floats": """
        ds = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x * 0.5)
        ds.map(lambda x: tf.cast(x, tf.float32)).shuffle(60000)
        """,
    "a look at as many elements as callers say": """
        def show(data, n):
            data = data.shuffle(1000)
            for x in data.take(n):
                print(x)
        show(files.map(load), 10)
        """,
    "a look at a few elements": "slices.batch(batch_size).shuffle(32).take(1)",
    "numbers of tables": "tfds.load('iris', split='train').map(lambda r: tf.cast(r, tf.float32)).shuffle(99)",
    "text cut into sequences": """
        sequences = ids.batch(101, drop_remainder=True)
        dataset = tf.data.Dataset.from_tensor_slices(ids).batch(101).map(split).shuffle(10000).batch(BATCH_SIZE)
        """,
    "sequences that a function returns": """
        def sequences(length):
            return tf.data.Dataset.from_tensor_slices(ids).batch(length + 1).shuffle(1000)
        """,
    "sequences of literal length that nothing here consumes": "slices.batch(101).shuffle(1000)",
    "windows of a series": """
        ds = tf.data.Dataset.from_tensor_slices(series).window(9, shift=1, drop_remainder=True)
        ds = ds.flat_map(lambda window: window.batch(9)).shuffle(1000).batch(32)
        """,
    "batches taken apart": "files.map(extract).batch(batch_size).unbatch().shuffle(1000)",
    "batches taken apart later": "slices.batch(batch_size).shuffle(1000).unbatch()",
    "batches that were shuffled before": "slices.shuffle(1000).batch(batch_size).shuffle(10)",
    "a buffer of one": "slices.batch(batch_size).shuffle(1)",
    "a dataset of unknown origin": "dataset.map(load).shuffle(1000)",
    "one of a list of datasets": """
        layers = [slices]
        for n in range(1, 4):
            layers.append(layers[n - 1].map(to_float))
        layers[2].map(to_float).shuffle(1000)
        """,
    "a generator of numbers": "tf.data.Dataset.from_generator(lambda: range(9), tf.int32).shuffle(9)",
    "np.random.shuffle": "np.random.shuffle(x_train)",
    "one way that decodes and one that does not": """
        ds = files
        if images:
            ds = ds.map(load)
        ds = ds.shuffle(1000)
        """,
    "patches of decoded images": """
        files.map(load).flat_map(lambda x: tf.data.Dataset.from_tensor_slices(x)).shuffle(1000)
        """,
    "a shuffle that is thrown away": """
        ds = slices.batch(batch_size)
        ds.shuffle(1000)
        model = tf.keras.Sequential()
        model.fit(ds)
        """,
    "a star": "files.map(*args).shuffle(*more)",
}
FLAGGED = {
    "what a function makes for a look and for training": """
        def prepare():
            ds = files.map(load).shuffle(1000)  # <-
            return ds.batch(32)
        ds = prepare()
        batch = next(iter(ds))
        model = tf.keras.Sequential()
        model.fit(ds)
        """,
    "what is looked at on each step": """
        def prepare():
            return files.map(load).shuffle(1000)  # <-
        for step in range(1000):
            train_step(next(iter(prepare())))
        """,
    "images to which one way does what is not in sight": """
        ds = records.map(decode)
        if augmented:
            ds = ds.map(extract)
        ds = ds.shuffle(1000)  # <-
        """,
    "inputs that are zipped in batches": """
        pairs = tf.data.Dataset.zip((slices.batch(32), slices.batch(32)))
        ds = pairs.shuffle(1000)  # <-
        """,
    "sequences in buckets": """
        bucket = tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [5, 15], [64, 64, 64])
        ds = records.map(parse).apply(bucket)
        ds = ds.shuffle(1000)  # <-
        """,
    "sequences in buckets, by the method": """
        ds = records.map(parse).bucket_by_sequence_length(tf.size, [5, 15], [64, 64, 64])
        ds = ds.shuffle(1000)  # <-
        """,
    "decoded files that are cut to an unknown size": """
        class Pairs:
            def cut(self, image):
                return tf.image.random_crop(image, [self.size, self.size, 3])
            def get(self, size):
                return files.map(load).map(self.cut).shuffle(size)  # <-
        """,
    "batches of images that are kept in memory": """
        ds = files.map(load).cache().batch(batch_size)
        ds = ds.shuffle(100)  # <-
        """,
    "arrays that Python reads": """
        def read(path):
            return np.load(path.numpy())
        ds = files.map(lambda path: tf.py_function(read, [path], tf.float32)).shuffle(1000)  # <-
        """,
    "images that Python reads by ops of TensorFlow": """
        files.map(lambda p: tf.py_function(load, [p], tf.float32)).shuffle(1000).batch(32)  # <-
        """,
    "images that Python reads": """
        def read(path):
            return cv2.resize(cv2.imread(path), (224, 224)).astype(np.float32)
        def parse_image(path, label):
            def run(path, label):
                return read(path), label
            return tf.numpy_function(run, [path, label], [tf.float32, tf.int64])
        slices.map(parse_image).shuffle(1000).batch(32)  # <-
        """,
    "8-bit images that an op flips": """
        ds = tf.data.Dataset.from_tensor_slices(x_train)
        if flip:
            ds = ds.map(tf.image.random_flip_left_right)
        ds = ds.map(lambda x: tf.cast(x, tf.float32) / 127.5 - 1.0)
        ds = ds.shuffle(60000)  # <-
        """,
    "decoded images": "files.map(load).shuffle(1000).batch(32)  # <-",
    "8-bit images of a dataset that a function is applied to": """
        def prepare(ds):
            ds = ds.map(lambda x, y: (tf.cast(x, tf.float32), y))
            ds = ds.map(lambda x, y: (x / 128.0 - 1.0, y))
            return ds.shuffle(60000).batch(32)  # <-
        train = tfds.load("mnist", split="train", as_supervised=True).apply(prepare)
        """,
    "decoded images that are changed, by the name of what does it": """
        def prepare(paths, augment=None):
            ds = tf.data.Dataset.from_tensor_slices(paths).map(load)
            if augment:
                ds = ds.map(augment)
            return ds.shuffle(1000).batch(32)  # <-
        """,
    "decoded images that a function from elsewhere distorts": """
        from images import random_distortion
        def f(image):
            return random_distortion(image) / 255.0
        files.map(load).map(f).shuffle(1000).batch(32)  # <-
        """,
    "images that a layer puts noise on": """
        noise = tf.keras.layers.GaussianNoise(0.1)
        ds = tf.data.Dataset.from_tensor_slices(x_train).map(to_float)
        ds = ds.map(lambda x: (noise(x, training=True), x)).shuffle(60000)  # <-
        """,
    "decoded images that an option keeps in memory": """
        ds = files.map(load)
        if keep:
            ds = ds.cache()
        ds = ds.shuffle(1000).batch(32)  # <-
        """,
    "stages on a parameter": """
        def prepare(ds):
            ds = ds.map(load)
            ds = ds.shuffle(1000).batch(32)  # <-
            return ds.prefetch(1)
        """,
    "one of two maps that decode": """
        def decode_only(record):
            return tf.io.decode_png(parse(record)["image"])
        parse_one = decode if labeled else decode_only
        ds = records.map(parse_one).map(lambda image: tf.image.random_flip_left_right(image)).repeat()
        ds = ds.shuffle(1000).batch(32)  # <-
        """,
    "decoded images with labels": """
        def f(path, label):
            image = tf.image.resize(load(path), (28, 28))
            image.set_shape([28, 28, 3])
            return to_float(image), label
        ds = slices.map(f, num_parallel_calls=4)
        ds = ds.shuffle(buffer_size=1000)  # <-
        """,
    "images decoded from records": "records.map(decode).shuffle(1000).batch(32)  # <-",
    "images of records, in two maps": "records.map(parse).map(decode).shuffle(1000)  # <-",
    "images of unchanged size": "records.map(lambda r: tf.image.decode_jpeg(r)).shuffle(1000)  # <-",
    "a size that has a name": """
        SIZE = 256
        def f(record):
            return tf.image.resize(tf.io.decode_jpeg(record), [SIZE, SIZE])
        records.map(f).repeat().shuffle(1000)  # <-
        """,
    "a size that is a parameter": """
        def prepare(record, size):
            encoded = parse(record)["image"]
            height, width, _ = tf.unstack(tf.io.extract_jpeg_shape(encoded))
            image = tf.io.decode_and_crop_jpeg(encoded, tf.stack([0, 0, height, width]))
            return tf.image.resize(image, size)
        def build(size):
            return records.map(lambda record: prepare(record, [size, size])).shuffle(1000)  # <-
        """,
    "an image of middle size in floats": """
        def f(record):
            return tf.image.resize(tf.io.decode_jpeg(record), (112, 112)) / 127.5 - 1.0
        records.map(f).shuffle(1000)  # <-
        """,
    "a piece of unknown size that is resized later": """
        def augment(image):
            size = tf.cast(tf.random.uniform([]) * 224, tf.int32)
            image = tf.image.random_crop(image, [size, size, 3])
            image = tf.image.random_flip_left_right(image)
            return tf.image.resize(image, [224, 224])
        records.map(decode).map(augment).repeat().shuffle(1000)  # <-
        """,
    "a later map that asks for settings": """
        def augment(image):
            options = extract()
            return tf.image.resize_with_crop_or_pad(image, options.height, options.width)
        records.map(decode).map(augment).shuffle(1000)  # <-
        """,
    "joined with labels": """
        images = files.map(load)
        both = tf.data.Dataset.zip((images, slices))
        train = both.take(count)
        train = train.shuffle(1000)  # <-
        """,
    "a generator of images by their shape": """
        ds = tf.data.Dataset.from_generator(
            draw, (tf.uint8, tf.int64), ([height, width, 3], 1)
        )
        ds = ds.shuffle(1000)  # <-
        """,
    "a generator of images by its signature": """
        ds = tf.data.Dataset.from_generator(draw, output_signature=(tf.TensorSpec((64, 64, 1)), tf.TensorSpec(())))
        ds = ds.shuffle(1000)  # <-
        """,
    "batches that are kept in memory": """
        ds = tf.keras.utils.timeseries_dataset_from_array(x, None, sequence_length=9, batch_size=32)
        ds = ds.map(parse).cache()
        ds = ds.shuffle(100)  # <-
        """,
    "records that an old version reads": """
        ds = tf.contrib.data.TFRecordDataset(["a"]).map(decode)
        ds = ds.shuffle(1000)  # <-
        """,
    "a lambda around a function": "files.map(lambda path: load(path)).shuffle(1000)  # <-",
    "sounds": """
        files.map(lambda p: tf.audio.decode_wav(tf.io.read_file(p))).shuffle(1000)  # <-
        """,
    "8-bit images made floats": """
        tf.data.Dataset.from_tensor_slices(x_train).map(to_float).shuffle(60000)  # <-
        """,
    "8-bit images with labels": """
        def f(image, label):
            return to_float(image), label
        tf.data.Dataset.from_tensor_slices((x_train[..., None], y_train)).map(f).shuffle(60000)  # <-
        """,
    "an array of bytes": """
        images = np.zeros((100, 28, 28), dtype=np.uint8)
        tf.data.Dataset.from_tensor_slices(images).map(to_float).shuffle(60000)  # <-
        """,
    "images of TensorFlow Datasets": """
        def f(image, label):
            return tf.cast(image, tf.float32) / 255., label
        ds = tfds.load("mnist", split="train", as_supervised=True)
        ds = ds.map(f).shuffle(10000)  # <-
        """,
    "8-bit images of a dictionary": """
        def f(features):
            return tf.cast(features["image"], tf.float32) / 127.5 - 1.0, features["label"]
        ds = tfds.load(name="mnist", split=tfds.Split.TRAIN)
        ds = ds.repeat(-1).map(f).shuffle(10_000)  # <-
        """,
    "8-bit images that are standardized": """
        def f(x, y):
            return tf.image.per_image_standardization(x), y
        tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(f).shuffle(60000)  # <-
        """,
    "8-bit images augmented before": """
        HEIGHT = WIDTH = 32
        (x, y), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
        x, y = tf.gather(x, chosen), tf.gather(y, chosen)
        def augment(x, y):
            x = tf.image.resize_with_crop_or_pad(x, HEIGHT + 8, WIDTH + 8)
            return tf.image.random_flip_left_right(tf.image.random_crop(x, [HEIGHT, WIDTH, 3])), y
        def standardize(x, y):
            return tf.image.per_image_standardization(x), y
        ds = tf.data.Dataset.from_tensor_slices((x, y)).map(augment).map(standardize).shuffle(50000)  # <-
        """,
    "8-bit images augmented behind": """
        SIZE = [28, 28, 1]
        def f(x, y):
            return tf.image.random_crop(tf.image.convert_image_dtype(x, tf.float32), size=SIZE), y
        ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(f)
        ds = ds.map(lambda x, y: (tf.image.random_flip_left_right(x), y)).shuffle(60000)  # <-
        """,
    "8-bit images with an axis more": """
        x_train = x_train.reshape(-1, 28, 28, 1)
        x_train = np.concatenate([x_train, np.expand_dims(x_train[..., 0], -1)])
        ds = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x / 255).shuffle(60000)  # <-
        """,
    "a pair of arrays with a name": """
        train, test = tf.keras.datasets.fashion_mnist.load_data()
        def f(x, y):
            return to_float(x), y
        ds = tf.data.Dataset.from_tensor_slices(train).map(f).shuffle(60000)  # <-
        """,
    "8-bit images that a function is given": """
        def make(images, labels):
            return tf.data.Dataset.from_tensor_slices(images).map(to_float).shuffle(60000)  # <-
        make(x_train, y_train)
        """,
    "photographs made floats in their size": """
        def f(image, label):
            return to_float(image), label
        tfds.load("oxford_flowers102", split="train", as_supervised=True).map(f).shuffle(1000)  # <-
        """,
    "an image that a statistic of itself is taken from": """
        def f(path):
            image = tf.cast(load(path), tf.float32)
            return image - tf.reduce_mean(image)
        files.map(f).shuffle(1000)  # <-
        """,
    "an image with its class": """
        def f(path, label):
            return load(path), tf.argmax(label)
        slices.map(f).shuffle(1000)  # <-
        """,
    "raw bytes": """
        def f(record):
            return tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32)
        records.map(f).shuffle(1000)  # <-
        """,
    "a generator that reads images": """
        def images():
            for path in paths:
                yield cv2.imread(path)
        tf.data.Dataset.from_generator(images, tf.uint8).shuffle(1000).batch(32)  # <-
        """,
    "behind a batch": "slices.batch(batch_size).shuffle(1000)  # <-",
    "behind a batch that is trained on": """
        model = tf.keras.Sequential()
        model.fit(slices.batch(32).shuffle(1000))  # <-
        """,
    "behind a batch and a map": """
        ds = slices.batch(BATCH_SIZE)
        ds = ds.map(extract).prefetch(1)
        ds = ds.shuffle(1000)  # <-
        """,
    "of a source that batches": """
        ds = tf.keras.utils.image_dataset_from_directory("images", shuffle=False)
        model = tf.keras.Sequential()
        model.fit(ds.shuffle(1000))  # <-
        """,
    "images that are kept only where a caller says so": """
        def prepare(ds, keep=False):
            ds = ds.map(load)
            if keep:
                ds = ds.cache()
            return ds.shuffle(1000).batch(32)  # <-
        """,
    "batches as large as other data": """
        ds = tf.data.Dataset.from_tensor_slices((images, labels)).batch(few.shape[0]).shuffle(1000)  # <-
        model = tf.keras.Sequential()
        model.fit(ds)
        """,
    "a part of a generator": """
        ds = tf.data.Dataset.from_generator(draw, output_signature=tf.TensorSpec((256, 256, 3)))
        ds = ds.take(n).shuffle(1000)  # <-
        """,
    "images of which a part is for validation": """
        images = files.map(load)
        validation = images.take(n)
        train = images.skip(n).shuffle(1000)  # <-
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert rows(source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags_the_shuffle_of(source: str) -> None:
    marked = [row for row, line in enumerate(dedent(source).strip("\n").split("\n"), 1) if "# <-" in line]
    assert rows(source) == marked != []


def test_says_what_the_map_does() -> None:
    (finding,) = findings(CODE, module("files.map(load).shuffle(1000)"))
    assert finding.message.startswith(
        "the `map` before `shuffle` reads and decodes files, so the buffer holds the results; shuffle first"
    )


def test_says_to_map_what_is_left_of_a_split() -> None:
    (finding,) = findings(CODE, module("images = files.map(load)\nimages.skip(9).shuffle(1000)"))
    assert finding.message.endswith("so the buffer holds the results; map behind it")


FIXES = {
    "on one line": ("files.map(load).shuffle(1000).batch(32)\n", "files.shuffle(1000).map(load).batch(32)\n"),
    "with arguments and a repeat between": (
        "files.map(load, num_parallel_calls=4).repeat().shuffle(1000, seed=1).batch(32)\n",
        "files.repeat().shuffle(1000, seed=1).map(load, num_parallel_calls=4).batch(32)\n",
    ),
    "each on a line, with comments": (
        """
        ds = (
            files
            # decode
            .map(load)  # images
            .shuffle(1000)  # well
            .batch(32)
        )
        """,
        """
        ds = (
            files
            .shuffle(1000)  # well
            # decode
            .map(load)  # images
            .batch(32)
        )
        """,
    ),
    "statements": (
        """
        ds = files.map(load)
        ds = ds.shuffle(1000)
        ds = ds.batch(32)
        """,
        """
        ds = files.shuffle(1000).map(load)
        ds = ds.batch(32)
        """,
    ),
    "two maps": (
        "ds = files.map(load).map(to_float).shuffle(1000)\n",
        "ds = files.shuffle(1000).map(load).map(to_float)\n",
    ),
    "two maps, each on a line": (
        """
        ds = (
            files
            .map(load)
            # floats
            .map(to_float)
            # in any order
            .shuffle(1000)
        )
        """,
        """
        ds = (
            files
            # in any order
            .shuffle(1000)
            .map(load)
            # floats
            .map(to_float)
        )
        """,
    ),
    "two maps with backslashes": (
        "ds = files \\\n    .map(load) \\\n    .map(to_float) \\\n    .shuffle(1000) \\\n    .batch(2)\n",
        "ds = files \\\n    .shuffle(1000) \\\n    .map(load) \\\n    .map(to_float) \\\n    .batch(2)\n",
    ),
    "two maps in statements": (
        """
        ds = files
        ds = ds.map(load)
        ds = ds.map(to_float)
        # in any order
        ds = ds.shuffle(1000)
        """,
        """
        ds = files
        # in any order
        ds = ds.shuffle(1000)
        ds = ds.map(load)
        ds = ds.map(to_float)
        """,
    ),
    "two maps in the statement before": (
        """
        ds = files.map(load).map(to_float)
        ds = ds.shuffle(1000).batch(32)
        """,
        """
        ds = files.shuffle(1000).map(load).map(to_float)
        ds = ds.batch(32)
        """,
    ),
    "batches": ("ds = slices.batch(batch_size).shuffle(99)\n", "ds = slices.shuffle(99).batch(batch_size)\n"),
    "batches that are mapped": (
        "ds = slices.batch(batch_size).map(extract).shuffle(99)\n",
        "ds = slices.shuffle(99).batch(batch_size).map(extract)\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_shuffles_first(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


def test_never_calls_the_fix_safe_because_another_order_comes_of_it() -> None:
    (finding,) = findings(CODE, module("files.map(load).shuffle(1000)"))
    assert finding.fix is not None
    assert not finding.fix.safe


REFUSED = {
    "`take` is between them": "files.map(load).map(to_float).take(100).shuffle(100)",
    "the source itself gives such elements": """
        model = tf.keras.Sequential()
        model.fit(tf.keras.utils.image_dataset_from_directory("images", shuffle=False).shuffle(100))
        """,
    "the result of `map` is used in several places": """
        images = files.map(load)
        ds = images.shuffle(100)
        few = images.take(10)
        """,
    "the two are too far apart": """
        ds = files.map(load)
        print(ds)
        ds = ds.shuffle(100)
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_shuffle_first(reason: str, source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert note.split(" (line")[0] == f"no fix: {reason}"


MEASURED = {
    "files.map(load).shuffle(1000)": True,
    "records.map(decode).shuffle(1000)": True,
    "files.map(lambda p: tf.audio.decode_wav(tf.io.read_file(p))).shuffle(1000)": False,
    "tf.data.Dataset.from_tensor_slices(x_train).map(to_float).shuffle(60000)": False,
    "slices.batch(batch_size).shuffle(1000)": False,
    "records.map(decode).batch(6).shuffle(100)": False,
}


@pytest.mark.parametrize(("source", "told"), MEASURED.items())
def test_tells_the_cost_only_of_decoded_images(source: str, told: bool) -> None:
    assert {*costs_told(CODE, module(source))} == {told}
