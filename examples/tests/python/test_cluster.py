"""A whole cluster for the tests of a module: pip install kubernetes, then python -m unittest."""

import os
import shlex
import subprocess
import time
import unittest

from kubernetes import client, config

NAME = "python-test"


def dray(*arguments: str) -> str:
    """Runs the command line: what DRAY names, by default dray on the PATH."""
    command = shlex.split(os.environ.get("DRAY", "dray"))
    run = subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return run.stdout.strip()


def setUpModule() -> None:
    unittest.addModuleCleanup(dray, "down", "--name", NAME, "--delete-data")
    dray("up", "--detach", "--name", NAME, "--nodes", "1")
    config.load_kube_config(dray("status", "--name", NAME, "-o", "kubeconfig"))


class ClusterTest(unittest.TestCase):
    def test_a_pod_runs(self) -> None:
        pods = client.CoreV1Api()
        container = client.V1Container(name="main", image="busybox", command=["echo", "hello"])
        spec = client.V1PodSpec(restart_policy="Never", containers=[container])
        pod = client.V1Pod(metadata=client.V1ObjectMeta(name="hello"), spec=spec)
        pods.create_namespaced_pod("default", pod)
        deadline = time.monotonic() + 60
        while pods.read_namespaced_pod("hello", "default").status.phase != "Succeeded":
            self.assertLess(time.monotonic(), deadline, "the pod does not end")
            time.sleep(0.1)
        self.assertEqual(pods.read_namespaced_pod_log("hello", "default"), "hello\n")


if __name__ == "__main__":
    unittest.main()
