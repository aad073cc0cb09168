"""Settings that runs share, and settings of their own."""

from terrafl.reports.resolved import read_settings, resolve_settings
from terrafl.runs import RunFolder


def test_shared_settings_are_told_from_a_method_s_own(real_runs):
    by_method = {
        name: [read_settings(RunFolder(real_runs / f"{name}-s{seed}")) for seed in (0, 1)]
        for name in ("random", "terraform")
    }

    resolved = resolve_settings(by_method)

    assert resolved.shared["rounds"] == "6"
    assert resolved.shared["training.batch_size"] == "16"
    assert resolved.differing["terraform"]["selector.eta"] == "4"
    assert resolved.differing["random"] == {"selector.name": "random"}
    assert not any(key.startswith(("seed", "versions")) for key in resolved.shared)


def test_runs_without_a_configuration_have_no_settings(tmp_path):
    settings = read_settings(RunFolder(tmp_path))

    assert settings == {}
    assert resolve_settings({"random": [settings]}).shared == {}
