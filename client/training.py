"""SHIM"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Trained:
    model: object
    buffers: object = None

class LocalTraining:
    def __init__(self, *, learning_rate, steps):
        self.lr=learning_rate; self.steps=steps
    def __call__(self, task, model, data, random, *, proximal=0.0, buffers=None):
        for _ in range(self.steps):
            model = model - self.lr * task.gradient(model, data)
        return Trained(model, buffers)

def training_of(settings):
    o = settings.choice("optimiser")
    return LocalTraining(learning_rate=o.get("step"), steps=o.get("local_steps", 1))
