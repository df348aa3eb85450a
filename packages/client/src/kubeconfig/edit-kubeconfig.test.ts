import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { editKubeconfig, type KubeconfigEdit, readKubeconfigContent } from "./edit-kubeconfig.ts";

const entries = {
  clusters: { server: "https://127.0.0.1:1" },
  contexts: { cluster: "dray", user: "dray" },
  users: { token: "t" },
};
const add: KubeconfigEdit = { set: { name: "dray", entries }, currentContext: "dray" };
const remove: KubeconfigEdit = { remove: "dray", currentContext: "" };

const ofKubectl = `apiVersion: v1
clusters:
- cluster:
    server: https://prod:6443
  name: prod
contexts:
- context:
    cluster: prod
    user: ann
  name: prod
current-context: prod
kind: Config
preferences: {}
users:
- name: ann
  user:
    token: secret
`;

test("entries are added in the layout of kubectl", () => {
  const added = editKubeconfig(ofKubectl, add);
  assert.equal(
    added,
    `apiVersion: v1
clusters:
- cluster:
    server: https://prod:6443
  name: prod
- cluster:
    server: https://127.0.0.1:1
  name: dray
contexts:
- context:
    cluster: prod
    user: ann
  name: prod
- context:
    cluster: dray
    user: dray
  name: dray
current-context: dray
kind: Config
preferences: {}
users:
- name: ann
  user:
    token: secret
- user:
    token: t
  name: dray
`,
  );
  assert.equal(editKubeconfig(added, add), added);
  assert.equal(editKubeconfig(added, { ...remove, currentContext: "prod" }), ofKubectl);
});

const ofAPerson = `# All my clusters
users:   # who
    - {name: ann, user: {token: "secret"}}   # Ann

    # runs a program
    - name: bob
      user:
          exec:
              command: |
                  aws
              args: [ eks,   get-token ]  # slow
              apiVersion: 'client.authentication.k8s.io/v1'
# the end of the users

contexts:
# none yet
clusters: [] # none either
"current-context": ''
kind:     Config
apiVersion: v1
extra: &anchor {a: 0x10, b: 1.10}
again: *anchor
# the end`;

test("comments, quotes, blanks and order of all other lines stay", () => {
  const added = editKubeconfig(ofAPerson, add);
  assert.equal(
    added,
    `# All my clusters
users:   # who
    - {name: ann, user: {token: "secret"}}   # Ann

    # runs a program
    - name: bob
      user:
          exec:
              command: |
                  aws
              args: [ eks,   get-token ]  # slow
              apiVersion: 'client.authentication.k8s.io/v1'
    - user:
        token: t
      name: dray
# the end of the users

contexts:
- context:
    cluster: dray
    user: dray
  name: dray
# none yet
clusters: # none either
- cluster:
    server: https://127.0.0.1:1
  name: dray
"current-context": dray
kind:     Config
apiVersion: v1
extra: &anchor {a: 0x10, b: 1.10}
again: *anchor
# the end`,
  );
  const removed = editKubeconfig(added, remove);
  assert.equal(
    removed,
    ofAPerson
      .replace("contexts:\n", "contexts: []\n")
      .replace(`"current-context": ''`, `"current-context": ""`),
  );
});

test("an entry is replaced in place, and keeps what others have added to it", () => {
  const own = editKubeconfig(ofKubectl, add).replace(
    "    user: dray\n",
    "    namespace: mine\n    user: dray\n",
  );
  const moved = { ...entries, clusters: { server: "https://127.0.0.1:2" } };
  const text = editKubeconfig(own, { set: { name: "dray", entries: moved } });
  assert.equal(text, own.replace("127.0.0.1:1", "127.0.0.1:2"));
  assert.deepEqual(readKubeconfigContent(text).entries("dray").contexts, {
    cluster: "dray",
    namespace: "mine",
    user: "dray",
  });
});

test("extensions of others stay in an entry", () => {
  const extended = (name: string): object => ({ extensions: [{ name, extension: { a: 1 } }] });
  const text = stringify({ clusters: [{ name: "dray", cluster: extended("theirs") }] });
  const cluster = { ...entries.clusters, ...extended("ours") };
  const edit = { set: { name: "dray", entries: { ...entries, clusters: cluster } } };
  const after = editKubeconfig(text, edit);
  const { clusters } = readKubeconfigContent(after).entries("dray");
  assert.deepEqual(
    (clusters!["extensions"] as { name: string }[]).map(({ name }) => name),
    ["ours", "theirs"],
  );
  assert.equal(editKubeconfig(after, edit), after);
});

test("a new file, one of comments, and one that kubectl has emptied", () => {
  const fresh = editKubeconfig("", add);
  assert.equal(
    fresh,
    `apiVersion: v1
kind: Config
clusters:
- cluster:
    server: https://127.0.0.1:1
  name: dray
contexts:
- context:
    cluster: dray
    user: dray
  name: dray
users:
- user:
    token: t
  name: dray
current-context: dray
`,
  );
  assert.equal(editKubeconfig("# mine\n---\n", add), `# mine\n---\n${fresh}`);
  assert.equal(editKubeconfig("# mine", add), `# mine\n${fresh}`);
  const emptied =
    'apiVersion: v1\nclusters: null\ncontexts:\ncurrent-context: ""\nkind: Config\nusers: null\n';
  assert.match(
    editKubeconfig(emptied, add),
    /^apiVersion: v1\nclusters:\n- cluster:\n(.*\n)*contexts:\n- context:/,
  );
  assert.equal(
    editKubeconfig(ofKubectl.replaceAll("\n", "\r\n"), add),
    editKubeconfig(ofKubectl, add).replaceAll("\n", "\r\n"),
  );
});

test("JSON stays JSON", () => {
  const json = JSON.stringify(parse(ofKubectl), null, 2);
  const added = editKubeconfig(json, add);
  assert.deepEqual(JSON.parse(added), parse(editKubeconfig(ofKubectl, add)));
  assert.deepEqual(
    JSON.parse(editKubeconfig(added, { ...remove, currentContext: "prod" })),
    parse(ofKubectl),
  );
  // JSON.stringify would write 0.
  assert.match(editKubeconfig('{"a":-0}', { currentContext: "b" }), /"a": ?-0,/);
});

test("a text that is not a kubeconfig is refused with line and reason", () => {
  const refused = (text: string, message: RegExp): void =>
    assert.throws(() => editKubeconfig(text, add), { message }, text);
  refused("a: [1\nb: 2", /at line 2, column \d/);
  refused("a: 1\na: 2", /Map keys must be unique at line 2/);
  refused("--- {}\n--- {}", /multiple documents/);
  refused("[]", /^it must be an object with clusters, contexts and users$/);
  refused("text", /^it must be an object/);
  refused("clusters: {}", /^clusters must be a list of objects with a name$/);
  refused("users: [1]", /^users must be a list of objects with a name$/);
  refused("current-context: 5", /^current-context must be a text$/);
});

test("an edit of any file changes its own entries only, and undoing it restores the file", () => {
  const name = fc.string({ minLength: 1 });
  const value = fc.oneof(
    { depthSize: "small" },
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant("text: with # marks\nand lines\n"),
  );
  const list = (field: string): fc.Arbitrary<object[]> =>
    fc.uniqueArray(
      fc.tuple(name, fc.dictionary(fc.string(), value)).map(([n, v]) => ({ [field]: v, name: n })),
      { selector: (entry) => entry.name, maxLength: 3 },
    );
  const config = fc.record(
    {
      apiVersion: fc.constant("v1"),
      clusters: fc.oneof(list("cluster"), fc.constant(null)),
      users: list("user"),
      contexts: list("context"),
      "current-context": fc.string(),
      other: value,
    },
    { requiredKeys: ["apiVersion"] },
  );
  const styles = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    defaultStringType: fc.constantFrom("PLAIN", "QUOTE_DOUBLE", "BLOCK_LITERAL"),
    collectionStyle: fc.constantFrom("any", "flow"),
  } as const);
  fc.assert(
    fc.property(config, styles, fc.boolean(), (old, options, ended) => {
      const whole = stringify(old, { ...options, lineWidth: 0 });
      const text = ended ? whole : whole.trimEnd();
      const before = parse(text) as typeof old;
      const own = "\u0000dray";
      const added = editKubeconfig(text, { set: { name: own, entries }, currentContext: "dray" });
      const after = parse(added) as Record<string, unknown>;
      for (const [key, field] of [
        ["clusters", "cluster"],
        ["contexts", "context"],
        ["users", "user"],
      ] as const)
        assert.deepEqual(after[key], [...(before[key] ?? []), { [field]: entries[key], name: own }]);
      assert.equal(after["current-context"], "dray");
      assert.deepEqual(after["other"], before.other);
      // Lines that were there are there still.
      if (options.collectionStyle === "any" && old["current-context"] === undefined) {
        const kept = new Set(added.split("\n"));
        for (const line of text.split("\n"))
          assert.ok(kept.has(line) || /^"?(clusters|users|contexts)"?: (null|\[\])$/.test(line), line);
      }
      const removed = editKubeconfig(added, {
        remove: own,
        currentContext: before["current-context"] ?? "",
      });
      const empty = { clusters: [], contexts: [], users: [], "current-context": "" };
      const filled = (one: object): object => ({ ...empty, ...one });
      assert.deepEqual(filled(parse(removed)), filled({ ...before, clusters: before.clusters ?? [] }));
    }),
  );
});
