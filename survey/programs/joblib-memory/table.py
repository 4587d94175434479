"""What is cached: a function of a module, as joblib wants it."""

import numpy


def table(number: int) -> numpy.ndarray:
    return numpy.full(1000, number)
