import pytest
from diabetes import write_diabetes


@pytest.fixture
def diabetes(tmp_path):
    return write_diabetes(tmp_path / "diabetes.npz")
