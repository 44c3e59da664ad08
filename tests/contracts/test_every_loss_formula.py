"""Every loss is its formula: its kernel says the same, and it can be differentiated, compiled, copied and wrapped."""

import copy
import pickle

import pytest
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from fairground.contracts import Loss, LossInputs
from fairground.spec.catalogue import find
from tests.contracts.losses import NAMES, batch, build, built_variants, random_batch, random_tuples, tuple_kinds

each_loss = pytest.mark.parametrize("name", NAMES)
#: these hold some weights constant in their gradient by definition: theirs is not that of their value
GRADIENT_OF_ITS_OWN = ("adaface", "adasp", "circle", "ranked_list", "self_distillation")
#: the queue of the memory changes from call to call, and the size of its pool with it; so do running norms
HAS_STATE = ("adaface", "cross_batch_memory")
#: settings that no kernel has
FORMULA_ALONE = {"decoupled", "form", "fourth", "pairing", "query_in_ranking", "self_positive_bug", "smooth", "swap"}
LEARNABLE = [name for name in NAMES if find("losses", name).is_learnable]


def seeded(seed=1):
    return torch.Generator().manual_seed(seed)


def formula(loss, embeddings, labels, tuples=None, seed=1):
    return loss.formula(embeddings, labels, tuples, generator=seeded(seed))


def gradients(value, inputs, **how):
    return torch.autograd.grad(value, inputs, materialize_grads=True, **how)


def agree(ours, theirs, tolerance, what):
    for one, other in zip(ours, theirs, strict=True):
        if one.numel():
            scale = 1 + float(other.detach().abs().max())
            assert float((one - other).detach().abs().max()) <= tolerance * scale, what


@each_loss
def test_the_kernel_says_what_the_formula_says(name):
    """Two dozen batches for each setting of each loss with a kernel, and a few where the formula is all there is."""
    for number, (chosen, loss) in enumerate(built_variants(name)):
        loss.eval()
        generator = seeded(number)
        kinds, n_kernels, has_kernel = tuple_kinds(loss), 0, type(loss).kernel is not Loss.kernel
        for trial in range(24 if has_kernel else 4):
            embeddings, labels, has_copies = random_batch(generator)
            kind = kinds[trial % len(kinds)]
            tuples = None if kind is None else random_tuples(kind, labels, generator)
            with torch.no_grad():
                n_kernels += loss.kernel(LossInputs(embeddings, labels, tuples, seeded())) is not None
            leaf = embeddings.requires_grad_()
            inputs = [leaf, *(weight for weight in loss.parameters() if weight.requires_grad)]
            ours = loss(leaf, labels, tuples, generator=seeded())
            theirs = formula(loss, leaf, labels, tuples)
            what = (chosen, trial)
            assert ours.dtype == torch.float64, what
            agree([ours], [theirs], 1e-7 if has_copies else 1e-12, what)
            agree(gradients(ours, inputs), gradients(theirs, inputs), 1e-6 if has_copies else 1e-10, what)
        assert n_kernels > 5 or not has_kernel or FORMULA_ALONE & set(chosen), chosen


@each_loss
def test_a_gradient_penalty_is_that_of_the_formula(name):
    embeddings, labels = batch(9, seed=3, n_classes=3)
    loss = build(name).eval()

    def penalty(value, inputs):
        first = gradients(value, inputs, create_graph=True)
        return gradients(sum((g.square().sum() for g in first), value.square()), inputs)

    inputs = [embeddings.requires_grad_(), *loss.parameters()]
    ours = penalty(loss(embeddings, labels, generator=seeded()), inputs)
    theirs = penalty(formula(loss, embeddings, labels), inputs)
    agree(ours, theirs, 1e-9, name)


@each_loss
def test_second_derivatives_are_slopes_of_the_first_and_finite_under_any_setting(name):
    embeddings, labels = batch(8, seed=7, n_classes=3)
    direction = torch.randn(embeddings.shape, generator=seeded(), dtype=torch.float64)
    crowds = (torch.ones_like(embeddings), torch.zeros_like(embeddings), embeddings[labels])

    for chosen, loss in built_variants(name):
        loss.eval()
        for kind in tuple_kinds(loss):
            tuples = None if kind is None else random_tuples(kind, labels, seeded(2))

            def slope(points, loss=loss, tuples=tuples):
                value = loss(points, labels, tuples, generator=seeded())
                return gradients(value, [points], create_graph=True)[0]

            leaf = embeddings.clone().requires_grad_()
            (second,) = gradients((slope(leaf) * direction).sum(), [leaf])
            if name not in (*GRADIENT_OF_ITS_OWN, *HAS_STATE):
                ahead, behind = (slope((embeddings + step * direction).requires_grad_()) for step in (1e-6, -1e-6))
                agree([second], [(ahead - behind) / 2e-6], 1e-5, chosen)
            for crowd in crowds if kind is tuple_kinds(loss)[0] else ():
                leaf = crowd.clone().requires_grad_()
                first = slope(leaf)
                (second,) = gradients(first.square().sum(), [leaf])
                assert first.isfinite().all(), chosen
                assert second.isfinite().all(), chosen


@pytest.mark.parametrize("name", [n for n in NAMES if n not in HAS_STATE])
def test_it_compiles_into_one_graph(name):
    torch._dynamo.reset()
    embeddings, labels = batch(9, seed=3, n_classes=3)
    loss = build(name)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager" if name in AHEAD_OF_TIME else "eager")
    leaf = embeddings.requires_grad_()
    torch.manual_seed(0)
    ours = compiled(leaf, labels)
    torch.manual_seed(0)
    theirs = loss(leaf, labels)
    agree([ours], [theirs], 1e-10, name)
    agree(gradients(ours, [leaf]), gradients(theirs, [leaf]), 1e-7, name)


#: one of each kind is also traced to the end, through its backward pass
AHEAD_OF_TIME = ("arc_face", "contrastive", "multi_similarity", "smooth_ap", "triplet")


@pytest.mark.parametrize("name", HAS_STATE)
def test_a_loss_with_a_state_compiles_in_parts(name):
    torch._dynamo.reset()
    plain, compiled = build(name), torch.compile(build(name), backend="eager")
    for step in range(3):
        embeddings, labels = batch(9, seed=step, n_classes=3)
        agree([compiled(embeddings, labels)], [plain(embeddings, labels)], 1e-10, name)


@each_loss
def test_torch_func_takes_its_gradient(name):
    embeddings, labels = batch(9, seed=3, n_classes=3)
    loss = build(name).eval()
    names, weights = zip(*loss.named_parameters(), strict=True) if list(loss.parameters()) else ((), ())

    def value(points, *given):
        parameters = dict(zip(names, given, strict=True))
        return torch.func.functional_call(loss, parameters, (points, labels), {"generator": seeded()})

    numbers = tuple(range(1 + len(weights)))
    ours = torch.func.grad(value, argnums=numbers)(embeddings, *(weight.detach() for weight in weights))
    leaf = embeddings.clone().requires_grad_()
    agree(ours, gradients(loss(leaf, labels, generator=seeded()), [leaf, *weights]), 1e-7, name)


@each_loss
def test_autocast_does_not_narrow_its_arithmetic(name):
    embeddings, labels = batch(9, dtype=torch.bfloat16, n_classes=3)
    ours, theirs = (build(name, torch.float32).eval() for _ in range(2))
    leaf = embeddings.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = ours(leaf, labels, generator=seeded())
        (first,) = gradients(value, [leaf], create_graph=True)
    assert value.dtype == torch.float32
    expected = theirs(embeddings.detach().float(), labels, generator=seeded())
    agree([value], [expected], 1e-6, name)
    assert first.isfinite().all()


@each_loss
def test_copies_and_pickles_say_the_same(name):
    embeddings, labels = batch(9, n_classes=3)
    loss = build(name)
    loss(embeddings, labels)
    twins = (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)))
    expected = loss.eval()(embeddings, labels, generator=seeded())
    for twin in twins:
        assert torch.equal(twin.eval()(embeddings, labels, generator=seeded()), expected)


@pytest.fixture(scope="module")
def process_group(tmp_path_factory):
    file = tmp_path_factory.mktemp("group") / "store"
    distributed.init_process_group("gloo", init_method=f"file://{file}", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.parametrize("name", LEARNABLE)
@pytest.mark.usefixtures("process_group")
def test_a_learnable_loss_can_be_wrapped_for_distributed_training(name):
    embeddings, labels = batch(9, n_classes=3)
    plain, wrapped = build(name), DistributedDataParallel(build(name))
    for loss in (plain, wrapped):
        loss(embeddings, labels, generator=seeded()).backward()
    ours = [weight.grad for weight in wrapped.parameters()]
    agree(ours, [weight.grad for weight in plain.parameters()], 1e-12, name)


@each_loss
def test_truth_values_are_labels(name):
    embeddings, _ = batch(8)
    labels = torch.tensor([True, False] * 4)
    ours, theirs = (build(name)(embeddings, kind, generator=seeded()) for kind in (labels, labels.long()))
    assert torch.equal(ours, theirs)


#: the length of an embedding is part of these
SEES_LENGTHS = ("adaface", "magface", "sphere_face")


@pytest.mark.parametrize("name", [n for n in NAMES if find("losses", n).on_sphere and n not in SEES_LENGTHS])
def test_embeddings_too_long_to_be_squared_keep_their_direction(name):
    embeddings, labels = batch(8, dtype=torch.float32, n_classes=3)
    for value in (lambda loss, x: loss(x, labels, generator=seeded()), lambda loss, x: formula(loss, x, labels)):
        ours, theirs = (value(build(name, torch.float32).eval(), x) for x in (1e30 * embeddings, embeddings))
        agree([ours], [theirs], 1e-4, name)
