"""A short finish with the full softmax, which pushes down the words that no V' held."""

from vocap.pretraining.losses.interface import Loss


class Finished(Loss):
    """`first` before step `since` (counted from 0), `last` from it on."""

    def __init__(self, first: Loss, last: Loss, since: int):
        self.first, self.last, self.since = first, last, since
        self.initial_bias = first.initial_bias
        self.current = first

    def start(self, step, weight):
        self.current = self.first if step < self.since else self.last
        return self.current.start(step, weight)

    def __call__(self, hidden, weight, bias, targets):
        return self.current(hidden, weight, bias, targets)

    def state_dict(self):
        return self.first.state_dict()

    def load_state_dict(self, state):
        self.first.load_state_dict(state)
