import assert from "node:assert/strict";
import { test } from "node:test";
import { security } from "../../testing/agent.ts";
import { type PrivilegesInput, planPrivileges } from "./privileges.ts";

const asRoot: PrivilegesInput = {
  security,
  agent: { setpriv: "/usr/bin/setpriv", root: true, mounts: true, bounding: new Set([10]) },
  podUid: "uid",
  needsRoot: false,
  deviceGroups: [],
};

const uidOf = (input: Partial<PrivilegesInput>): number | undefined =>
  planPrivileges({ ...asRoot, ...input }).user?.uid;

test("the user of a container: the pod's, the image's, or one of its own unless it needs root", () => {
  const own = uidOf({});
  assert.ok(own !== undefined && own >= 0x7000_0000);
  const imageUser = { uid: 65532, gid: 65533 };
  for (const [input, wanted] of [
    [{ security: { ...security, runAsUser: 7 }, imageUser }, 7],
    [{ imageUser }, 65532],
    [{ imageUser, needsRoot: true }, 65532],
    [{ imageUser: { uid: 0, gid: 0 } }, 0],
    [{ needsRoot: true }, 0],
    [{ needsRoot: true, security: { ...security, runAsNonRoot: true } }, own],
    [{ security: { ...security, privileged: true, runAsNonRoot: true } }, own],
  ] satisfies [Partial<PrivilegesInput>, number][])
    assert.equal(uidOf(input), wanted, JSON.stringify(input));
  assert.deepEqual(planPrivileges({ ...asRoot, imageUser }).user, imageUser);
});
