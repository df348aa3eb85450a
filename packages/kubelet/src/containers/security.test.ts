import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, SecurityContext } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { checkNonRoot } from "./security.ts";

function refusalOf(
  security: SecurityContext,
  user: number | string | undefined,
  isRoot: boolean,
): string | undefined {
  const container = { name: "c", image: "any", securityContext: { runAsNonRoot: true, ...security } };
  const pod = partial<Pod>({
    metadata: { name: "p", namespace: "n", uid: "u" },
    spec: { containers: [container] },
  });
  try {
    checkNonRoot(pod, container, user === undefined ? {} : { user }, isRoot);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/ \(pod: .*/, "");
  }
}

test("runAsNonRoot refuses what runs as root, or whose user is only a name", () => {
  const asRoot = "container has runAsNonRoot and image will run as root";
  for (const [security, user, isRoot, refusal] of [
    [{ runAsUser: 0n }, 5, false, "container's runAsUser breaks non-root policy"],
    [{ runAsUser: 5n }, 0, true, undefined],
    [{}, 5, true, undefined],
    [{}, 0, false, asRoot],
    [{}, undefined, true, asRoot],
    [{}, undefined, false, undefined],
    [{ runAsNonRoot: false }, undefined, true, undefined],
    [
      {},
      "app",
      false,
      "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root",
    ],
  ] as const)
    assert.equal(refusalOf(security, user, isRoot), refusal, `${JSON.stringify([user, isRoot])}`);
});
