"""The gradient of a large batch in the memory of a small one, chunk by chunk."""

from collections.abc import Callable, Collection

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from fairground.errors import require


def cached_backward(
    model: torch.nn.Module,
    chunks: Collection[torch.Tensor],
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    scale: Callable[[torch.Tensor], torch.Tensor] = lambda loss: loss,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the gradient of `loss_of(model(images))` to every parameter; return the loss and embeddings, detached.

    This is the gradient of a large batch in the memory of a small one. A loss looks at embeddings, not at images. So
    the batch is embedded twice, a chunk at a time: once without a graph, to learn the loss and its gradient by every
    embedding; and once with a graph, to carry these gradients into the weights. Images that are made when asked for are
    made twice, and never more than a chunk or two of them are in memory. The result is that of one large batch exactly,
    whatever the loss or the miner, for a third more arithmetic. (Gao, Zhang, Han and Callan, "Scaling deep contrastive
    learning batch size under memory limited setup", RepL4NLP 2021.)

    The images come in `chunks`, which are run through twice and must be the same both times. `loss_of` takes all
    embeddings (n, d) at once and may mine, regularise and have parameters of its own; gradients are those of
    `scale(loss)`. At most one chunk is in a graph at a time. Every chunk sees the same random numbers and buffers both
    times, and leaves buffers behind as if it had been seen once.
    """
    require_chunks_alone(model)
    if len(chunks) == 1:
        (images,) = chunks
        embeddings = model(images)
        loss = loss_of(embeddings)
        torch.autograd.backward(scale(loss))
        return loss.detach(), embeddings.detach()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    states, parts = [], []
    with torch.no_grad():
        for piece in chunks:
            states.append(_random_state(piece.device))
            parts.append(model(piece))
    # Under autocast, older versions of torch would use the weights cast without a graph again below, without gradient.
    torch.clear_autocast_cache()
    embeddings, sizes = torch.cat(parts).requires_grad_(), [len(part) for part in parts]
    del parts
    loss = loss_of(embeddings)
    torch.autograd.backward(scale(loss))
    if embeddings.grad is not None:
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
        after = _random_state(embeddings.device)
        for piece, state, gradient in zip(chunks, states, torch.split(embeddings.grad, sizes), strict=True):
            _set_random_state(piece.device, state)
            again = model(piece)
            if again.requires_grad:
                torch.autograd.backward(again, gradient)
        _set_random_state(embeddings.device, after)
    return loss.detach(), embeddings.detach()


def require_chunks_alone(model: torch.nn.Module) -> None:
    """Refuse a model whose embedding of one image depends on the others it is seen with."""
    for name, module in model.named_modules():
        require(
            not isinstance(module, _BatchNorm) or not (module.training or module.running_mean is None),
            f"a gradient-cached step needs batch norm frozen, for '{name}' would take its statistics from each chunk "
            "instead of the whole batch; set training.freeze_batch_norm=stats, or train without chunks",
        )


def _random_state(device: torch.device) -> list[torch.Tensor]:
    """Return the state of torch's own generators, that of the processor and that of the images' device."""
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state(*_which(device)))
    return states


def _set_random_state(device: torch.device, states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.get_device_module(device).set_rng_state(states[1], *_which(device))


def _which(device: torch.device) -> tuple[torch.device, ...]:
    # There is only one "mps", and its generator takes no argument to say so.
    return () if device.type == "mps" else (device,)
