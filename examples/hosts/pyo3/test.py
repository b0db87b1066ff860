"""Checks the module against numpy. Run it beside broadcasts.so: see .ci/long-checks hosts."""

import numpy as np

import broadcasts

bias = np.arange(3, dtype=np.float32)
view = broadcasts.broadcast(bias, [2, 3, 4, 5], "explicit(1)")
assert np.array_equal(view, np.broadcast_to(bias[:, None, None], (2, 3, 4, 5)))
assert np.shares_memory(view, bias) and view.strides == (0, 4, 0, 0)
assert not view.flags.writeable
bias[1] = 7
assert view[1, 1, 3, 4] == 7

# The view keeps the memory of its array alive.
view = broadcasts.broadcast(np.full(1, 5, np.float32), [1000])
assert view.sum() == 5000

# Any layout; the result is written where `out` is.
x = np.random.rand(2, 4, 5, 3).astype(np.float32)
out = np.zeros((2, 3, 8, 5), np.float32)
broadcasts.add_bias(x.transpose(0, 3, 1, 2), bias, 1, out[:, :, ::-2])
assert np.array_equal(out[:, :, ::-2], x.transpose(0, 3, 1, 2) + bias[:, None, None])
assert not out[:, :, ::2].any()

dy = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
assert np.array_equal(broadcasts.sum_to_shape(dy, [3, 1]), dy.sum((0, 2))[:, None])

for call, words in [
    (lambda: broadcasts.broadcast(bias, [2, 4]), "^ 3 is neither 4 nor 1"),
    (lambda: broadcasts.broadcast(bias, [3], "explict(0)"), "invalid broadcast mode"),
    (lambda: broadcasts.sum_to_shape(dy, [5]), "cannot reduce [2, 3, 4] to [5] (numpy)"),
    (lambda: broadcasts.add_bias(dy, bias, 1, out), "out has shape [2, 3, 8, 5]"),
]:
    try:
        call()
    except ValueError as error:
        assert words in str(error), error
    except TypeError as error:
        assert words.startswith("out"), error
    else:
        raise AssertionError(words)
print("numpy arrays are read, viewed and written in place")
