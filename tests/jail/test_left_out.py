"""A wall that is left out on request is missed by everyone who looks."""

from pathlib import Path

from solbench.jail import Artifact, WorkerPlan, start_zygote


def test_a_wall_left_out_is_told_and_the_walls_are_not_complete(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def run(x):\n    return x\n")
    artifact = Artifact(str(tmp_path), "main.py", "run", "python", False, "digest")
    with start_zygote(leave_out=["landlock"]) as zygote:
        worker = zygote.spawn(WorkerPlan(artifact, (), "cpu"))
        try:
            walls = worker.walls()
        finally:
            worker.kill()
    assert walls.layers["landlock"] == "left out on request"
    assert not walls.layers["capabilities"]
    assert not walls.complete
