import type { PodResourceClaim, PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { type PlacedPodSpec, podSpecsOf } from "@dray/api/pod";
import { systemPriorityClasses } from "@dray/apiserver/objects";
import { missingText } from "../manifests/missing.ts";
import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import { type Finding, finding } from "./finding.ts";
import { claimSpecOf, requestsOf } from "./requests.ts";
import { type LintContext, objectOf, type Subject } from "./subjects.ts";

/**
 * Checks references of objects: claims, templates, classes, requests, namespaces, priority classes, accounts.
 */
export function checkReferences(context: LintContext): Finding[] {
  const accounts = accountsOf(context.subjects);
  const ofSubjects = context.subjects.flatMap((subject) => {
    const object = objectOf(subject);
    const namespaced = checkNamespace(context, subject);
    if (object === undefined || isOver(object)) return namespaced;
    const specs = podSpecsOf(object);
    return [
      ...namespaced,
      ...specs.flatMap((placed) => [
        ...checkClaims(context, subject, placed),
        ...checkContainers(context, subject, placed),
        ...(subject.stored ? [] : checkNames(context, subject, placed, accounts)),
      ]),
    ];
  });
  return [...checkClasses(context), ...ofSubjects];
}

/** An ended pod needs no other objects. */
const isOver = (object: object): boolean =>
  ["Succeeded", "Failed"].includes((object as { status?: { phase?: string } }).status?.phase ?? "");

function checkNamespace({ cluster, world, subjects }: LintContext, subject: Subject): Finding[] {
  const { namespace } = subject;
  if (namespace === undefined || subject.stored) return [];
  // Only a cluster has all of its namespaces.
  const known = cluster.all("Namespace").map(({ object }) => object.metadata.name);
  if (known.length === 0 || world.find("Namespace", namespace) !== undefined) return [];
  if (subjects.some(({ draft, label }) => draft.kind === "Namespace" && label === `Namespace ${namespace}`))
    return [];
  const hint = didYouMean(namespace, known) ?? `known: ${names(known)}`;
  return [
    finding("missing-namespace", subject, "metadata.namespace", {
      message: `there is no Namespace "${namespace}"`,
      hints: [hint],
    }),
  ];
}

/** Without known classes the cluster may have all of them: reported once for each class. */
function checkClasses({ world, hasCluster, subjects }: LintContext): Finding[] {
  if (!world.isReadable("DeviceClass")) return [];
  const missing = subjects.flatMap((subject) => {
    const object = objectOf(subject);
    const placed = object && claimSpecOf(object);
    return placed === undefined
      ? []
      : requestsOf(placed.spec, placed.path).flatMap(({ body: { deviceClassName: name }, path }) =>
          !name || world.find("DeviceClass", name) !== undefined
            ? []
            : [{ subject, name, path: `${path}.deviceClassName` }],
        );
  });
  const text = (name: string): string => missingText(world, "DeviceClass", undefined, name);
  if (hasCluster || world.all("DeviceClass").length > 0)
    return missing.map(({ subject, name, path }) =>
      finding("missing-class", subject, path, { message: text(name) }),
    );
  const hints = ["a cluster may have it: --live or --cluster FILE looks there"];
  return [...Map.groupBy(missing, ({ name }) => name)].map(([name, all]) => {
    const { subject, path } = all[0]!;
    const details = all.length > 1 ? [`${all.length} requests name it`] : [];
    const found = finding("missing-class", subject, path, { message: text(name), details, hints });
    return { ...found, severity: "warning" };
  });
}

function checkClaims({ world }: LintContext, subject: Subject, { spec, path }: PlacedPodSpec): Finding[] {
  const namespace = subject.namespace ?? "default";
  const found: Finding[] = [];
  (spec.resourceClaims ?? []).forEach((entry, i) => {
    const at = `${path}.resourceClaims[${i}]`;
    const { resourceClaimName: claim, resourceClaimTemplateName: template } = entry;
    if (claim !== undefined && world.find("ResourceClaim", `${namespace}/${claim}`) === undefined) {
      if (!world.isReadable("ResourceClaim")) return;
      const other = world.find("ResourceClaimTemplate", `${namespace}/${claim}`) !== undefined;
      const hints = other
        ? [`"${claim}" is a ResourceClaimTemplate: write resourceClaimTemplateName: ${claim}`]
        : [];
      const message = missingText(world, "ResourceClaim", namespace, claim);
      found.push(finding("missing-claim", subject, `${at}.resourceClaimName`, { message, hints }));
    }
    // The claim of a stored pod exists already.
    if (template === undefined || hasStatus(subject, entry)) return;
    if (world.find("ResourceClaimTemplate", `${namespace}/${template}`) !== undefined) return;
    if (!world.isReadable("ResourceClaimTemplate")) return;
    const other = world.find("ResourceClaim", `${namespace}/${template}`) !== undefined;
    const hints = other ? [`"${template}" is a ResourceClaim: write resourceClaimName: ${template}`] : [];
    const message = missingText(world, "ResourceClaimTemplate", namespace, template);
    found.push(finding("missing-template", subject, `${at}.resourceClaimTemplateName`, { message, hints }));
  });
  return [...found, ...checkBinding({ world }, subject, { spec, path })];
}

function hasStatus(subject: Subject, { name }: PodResourceClaim): boolean {
  const { status } = objectOf(subject) as { status?: { resourceClaimStatuses?: { name: string }[] } };
  return subject.stored && (status?.resourceClaimStatuses ?? []).some((each) => each.name === name);
}

/** The scheduler ignores pods with a node. */
function checkBinding(
  { world }: Pick<LintContext, "world">,
  subject: Subject,
  { spec, path }: PlacedPodSpec,
): Finding[] {
  if (subject.stored || !spec.nodeName) return [];
  const open = (spec.resourceClaims ?? []).find(({ resourceClaimName: name }) => {
    const claim =
      name === undefined ? undefined : world.find("ResourceClaim", `${subject.namespace}/${name}`);
    return claim?.status?.allocation === undefined;
  });
  if (open === undefined) return [];
  const message = `the pod is bound to node ${spec.nodeName}, so its claim "${open.name}" will not be allocated: the scheduler looks only at pods without a node`;
  const hints = ["a nodeSelector for kubernetes.io/hostname leaves the choice of devices to the scheduler"];
  return [finding("bypasses-scheduler", subject, `${path}.nodeName`, { message, hints })];
}

/** Checks containers and the requests of their claims: a missing name gives no device, without an error. */
function checkContainers({ world }: LintContext, subject: Subject, { spec, path }: PlacedPodSpec): Finding[] {
  const namespace = subject.namespace ?? "default";
  const entries = spec.resourceClaims ?? [];
  const found: Finding[] = [];
  const used = new Set<string>();
  for (const list of ["initContainers", "containers"] as const) {
    (spec[list] ?? []).forEach(({ name: container, resources }, i) => {
      (resources?.claims ?? []).forEach(({ name, request }, j) => {
        used.add(name);
        const entry = entries.find((each) => each.name === name);
        if (request === undefined || entry === undefined) return;
        const requests = requestNames(world, namespace, entry);
        if (requests === undefined || requests.includes(request)) return;
        const at = `${path}.${list}[${i}].resources.claims[${j}].request`;
        const message = `claim "${name}" has no request "${request}": container ${container} gets no device`;
        const known = requests.length === 0 ? "it has no requests" : `its requests are ${names(requests)}`;
        found.push(finding("unknown-request", subject, at, { message, details: [known] }));
      });
    });
  }
  entries.forEach(({ name }, i) => {
    if (used.has(name)) return;
    const message = `no container names claim "${name}", so none gets its devices`;
    found.push(finding("unused-claim", subject, `${path}.resourceClaims[${i}]`, { message }));
  });
  return found;
}

function requestNames(
  world: LintContext["world"],
  namespace: string,
  { resourceClaimName: claim, resourceClaimTemplateName: template }: PodResourceClaim,
): string[] | undefined {
  const spec =
    claim !== undefined
      ? world.find("ResourceClaim", `${namespace}/${claim}`)?.spec
      : world.find("ResourceClaimTemplate", `${namespace}/${template}`)?.spec.spec;
  return spec && (spec.devices?.requests ?? []).map(({ name }) => name);
}

/** Returns the names of service accounts among the manifests, by namespace. */
function accountsOf(subjects: readonly Subject[]): ReadonlyMap<string, readonly string[]> {
  const accounts = subjects.flatMap((subject) => {
    const object = objectOf(subject);
    return object?.kind === "ServiceAccount" && object.metadata.name
      ? [(object as ServiceAccount).metadata]
      : [];
  });
  const groups = Map.groupBy(accounts, ({ namespace }) => namespace);
  return new Map([...groups].map(([namespace, all]) => [namespace, all.map(({ name }) => name)]));
}

function checkNames(
  { world }: LintContext,
  subject: Subject,
  { spec, path }: { readonly spec: PodSpec; readonly path: string },
  accounts: ReadonlyMap<string, readonly string[]>,
): Finding[] {
  const found: Finding[] = [];
  const { priorityClassName: priority, serviceAccountName: account } = spec;
  const classes = [
    ...systemPriorityClasses.map(({ name }) => name),
    ...world.all("PriorityClass").map(({ object }) => object.metadata.name),
  ];
  if (priority && world.isReadable("PriorityClass") && !classes.includes(priority)) {
    const message = `there is no PriorityClass "${priority}": its pods would be refused`;
    const hint = didYouMean(priority, classes) ?? `known: ${names(classes)}`;
    found.push(
      finding("missing-priority-class", subject, `${path}.priorityClassName`, { message, hints: [hint] }),
    );
  }
  const known = accounts.get(subject.namespace ?? "default");
  if (account && account !== "default" && known !== undefined && !known.includes(account)) {
    const message = `there is no ServiceAccount "${account}" among those of namespace ${subject.namespace}`;
    const hint = didYouMean(account, known) ?? `known: ${names(known)}`;
    found.push(
      finding("missing-service-account", subject, `${path}.serviceAccountName`, { message, hints: [hint] }),
    );
  }
  return found;
}
