"""What TensorBoard reads back of tracked runs."""

import json

import pytest
from diabetes import SETTINGS, write_diabetes

import terrafl
from terrafl.errors import ConfigurationError
from terrafl.experiments.run import resume
from terrafl.experiments.tracking import Tracking
from terrafl.runs import RunFolder

accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard"
)


def read_back(folder):
    found = accumulator.EventAccumulator(
        str(folder / "tensorboard"), size_guidance={accumulator.SCALARS: 0, accumulator.IMAGES: 0}
    )
    found.Reload()
    return found


def scalars(folder):
    found = read_back(folder)
    return {
        tag: [(event.step, event.value) for event in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }


def parameters(folder):
    """Return the hyperparameters that TensorBoard's own plugin finds."""
    from tensorboard.plugins.hparams import metadata

    content = read_back(folder).PluginTagToContent(metadata.PLUGIN_NAME)
    info = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
    ended = metadata.SESSION_END_INFO_TAG in content
    return {name: _value(value) for name, value in info.hparams.items()}, ended


def headlines(folder):
    """Return the results that TensorBoard's own plugin shows next to the hyperparameters."""
    from tensorboard.plugins.hparams import metadata

    content = read_back(folder).PluginTagToContent(metadata.PLUGIN_NAME)
    experiment = metadata.parse_experiment_plugin_data(content[metadata.EXPERIMENT_TAG])
    return {info.name.tag for info in experiment.metric_infos}


def _value(value):
    return getattr(value, value.WhichOneof("kind"))


@pytest.fixture(scope="module")
def tracked(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracked") / "run"
    return terrafl.run(
        selector=terrafl.Terraform(eta=2),
        out=folder,
        workers=1,
        track="tensorboard",
        **small | {"rounds": 4},
    )


def test_the_curve_is_the_run_s(tracked):
    found = scalars(tracked.folder.path)

    accuracy = [(point.round, pytest.approx(point.accuracy)) for point in tracked.curve]
    updates = [(point.round, point.client_updates) for point in tracked.curve]
    assert found["accuracy/pooled"] == accuracy
    assert found["cost/client_updates"] == updates


def test_what_happened_in_a_round_is_the_journal_s(tracked):
    found = scalars(tracked.folder.path)
    events = [json.loads(line) for line in tracked.folder.journal.read_text().splitlines()]

    for step, trained in found["round/client_updates"]:
        cohorts = [e for e in events if e["event"] == "cohort" and e["round"] == step - 1]
        assert trained == sum(len(e["clients"]) for e in cohorts)
        assert dict(found["round/iterations"])[step] == len(cohorts)
    first = next(e for e in events if e["event"] == "split")
    largest = max(client["update_norm"] for client in first["clients"])
    assert found["selection/update_norm_max"][0] == (1, pytest.approx(largest))


def test_results_parameters_and_figures_are_there(tracked):
    found = read_back(tracked.folder.path)
    settings, ended = parameters(tracked.folder.path)

    (result,) = found.Scalars("result/accuracy")
    assert result.value == pytest.approx(tracked.accuracy)
    assert settings["selector.name"] == "terraform"
    assert settings["selector.eta"] == 2
    assert settings["rounds"] == tracked.config.rounds
    assert ended
    for figure in ("curves", "cost", "seconds", "participation", "norms", "fairness", "selection"):
        (image,) = found.Images(figure)
        assert image.encoded_image_string.startswith(b"\x89PNG")


def test_a_regression_is_shown_under_the_name_of_its_score(tmp_path):
    path = write_diabetes(tmp_path / "diabetes.npz")
    run = terrafl.run(dataset=str(path), out=tmp_path / "run", track="tensorboard", **SETTINGS)

    found = scalars(run.folder.path)
    assert [value for _, value in found["r2/pooled"]] == pytest.approx(
        [point.accuracy for point in run.curve]
    )
    assert found["result/r2"][0][1] == pytest.approx(run.accuracy)
    assert not [tag for tag in found if "accuracy" in tag]
    assert headlines(run.folder.path) == {
        *("result/r2", "result/client_updates", "result/samples_trained")
    }


def test_time_goes_forward(tracked):
    events = read_back(tracked.folder.path).Scalars("accuracy/pooled")

    times = [event.wall_time for event in events]
    assert times == sorted(times)
    assert times[0] >= tracked.folder.config.stat().st_mtime


class Stopped(Exception):
    pass


def test_a_resumed_run_is_told_once(small, tmp_path, tracked):
    folder = tmp_path / "run"

    def stop(done, planned, accuracy):
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        terrafl.run(
            selector=terrafl.Terraform(eta=2),
            out=folder,
            workers=1,
            track="tensorboard",
            on_round=stop,
            **small | {"rounds": 4},
        )
    with Tracking("tensorboard") as tracking:
        resume(folder, on_round=lambda done, planned, accuracy: tracking.update(folder, done))

    assert scalars(folder) == scalars(tracked.folder.path)
    assert len(list((folder / "tensorboard").iterdir())) == 1


def test_a_finished_comparison_can_be_tracked_afterwards(small, tmp_path):
    settings = {"selectors": ["random", "hbase"], "seeds": [0], "out": tmp_path, "workers": 1}
    terrafl.compare(**settings, **small)

    compared = terrafl.compare(**settings, **small, track="tensorboard")

    for folder in compared.folders:
        summary = RunFolder(folder).read_summary()
        assert scalars(folder)["accuracy/pooled"][-1][1] == pytest.approx(summary.accuracy)


def test_runs_of_a_comparison_are_followed_in_their_processes(small, tmp_path):
    compared = terrafl.compare(
        selectors=["random", "hbase"],
        seeds=[0],
        out=tmp_path,
        workers=2,
        track="tensorboard",
        **small,
    )

    for folder in compared.folders:
        curve = RunFolder(folder).read_summary().curve
        found = scalars(folder)["accuracy/pooled"]
        assert found == [(point.round, pytest.approx(point.accuracy)) for point in curve]


class Listener:
    """A tracker of the reader's own."""

    def __init__(self, folder):
        self.heard = []

    def start(self, parameters):
        self.heard.append("start")

    def measure(self, step, values, *, at):
        self.heard.append(step)

    def finish(self, values, figures):
        self.heard.append("finish")

    def close(self):
        self.heard.append("close")


def test_other_trackers_can_follow(small, tmp_path):
    made = []

    def make(folder):
        made.append(Listener(folder))
        return made[-1]

    terrafl.run(selector="random", out=tmp_path / "run", workers=1, track=make, **small)

    rounds = list(range(1, small["rounds"] + 1))
    assert [listener.heard for listener in made] == [["start", *rounds, "finish", "close"]]


def test_an_unknown_tracker_is_said_before_anything_is_done(small, tmp_path):
    with pytest.raises(ConfigurationError, match="track must be one of tensorboard; got 'tensor'"):
        terrafl.run(selector="random", out=tmp_path / "run", track="tensor", **small)

    assert not (tmp_path / "run").exists()


def test_tracking_needs_a_folder(small):
    with pytest.raises(ConfigurationError, match="out must be a folder when a run is tracked"):
        terrafl.run(selector="random", track="tensorboard", **small)
