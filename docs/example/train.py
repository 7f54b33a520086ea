"""Train a classifier of digits."""

import gc

import numpy as np
import tensorflow as tf

BATCH_SIZE = 128


def load(folder):
    images = np.load(f"{folder}/images.npy")
    labels = np.load(f"{folder}/labels.npy")
    return tf.data.Dataset.from_tensor_slices((images, labels))


def main():
    dataset = (
        load("digits").map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y)).shuffle(10_000).batch(BATCH_SIZE)
    )
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam()
    losses = []

    for epoch in range(10):
        for step, (images, labels) in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = loss_fn(labels, model(images, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            losses.append(loss)
            if step % 100 == 0:
                gc.collect()
                print(f"epoch {epoch}, step {step}: {np.mean(losses[-100:]):.4f}")


if __name__ == "__main__":
    main()
