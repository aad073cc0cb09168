"""Settings that runs share, and settings that differ."""

import pytest

from terrafl.errors import RunFolderError
from terrafl.reports.sections import resolve_settings, settings_of
from terrafl.runs import RunFolder


def test_shared_settings_are_separated_from_those_that_differ(real_runs):
    by_method = {
        name: [settings_of(RunFolder(real_runs / f"{name}-s{seed}")) for seed in (0, 1)]
        for name in ("random", "terraform")
    }

    resolved = resolve_settings(by_method)

    assert resolved.shared["rounds"] == "6"
    assert resolved.shared["training.batch_size"] == "16"
    assert resolved.differing["terraform"]["selector.eta"] == "4"
    assert resolved.differing["random"] == {"selector.name": "random"}
    assert not any(key.startswith(("seed", "versions")) for key in resolved.shared)


def test_runs_without_a_configuration_have_no_settings(tmp_path):
    settings = settings_of(RunFolder(tmp_path))

    assert settings == {}
    assert resolve_settings({"random": [settings]}).shared == {}


def test_labels_versions_and_seed_are_no_settings_and_tables_in_lists_are_numbered(tmp_path):
    (tmp_path / "config.toml").write_text(
        'framework = "flower"\nseed = 1\nrounds = 3\n[labels]\nmodel = "m"\n'
        '[versions]\nflwr = "1"\n[[strategy]]\nname = "FedProx"\nproximal_mu = 0.1\n'
    )

    assert settings_of(RunFolder(tmp_path)) == {
        **{"framework": "flower", "rounds": "3"},
        **{"strategy.1.name": "FedProx", "strategy.1.proximal_mu": "0.1"},
    }


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "a" + ".a" * 5000 + " = 1", "x = ", "\xff"])
def test_a_configuration_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "config.toml").write_bytes(text.encode("latin-1"))

    with pytest.raises(RunFolderError, match=r"config\.toml must be a"):
        settings_of(RunFolder(tmp_path))
