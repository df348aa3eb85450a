import { Argument, type Command, CommanderError, Option } from "commander";
import {
  clusterName,
  context,
  dataDir,
  enableAdmissionPlugins,
  example,
  featureGates,
  image,
  joined,
  kubeconfig,
  kubernetesVersion,
  ociDir,
  proxyKubeconfig,
  repeated,
  runtime,
  runtimeConfig,
} from "./command-options.ts";
import { declareDoctor } from "./commands/declare-doctor.ts";
import { declareExplain } from "./commands/declare-explain.ts";
import { declareTop } from "./commands/declare-top.ts";
import type { ImageLoadOptions } from "./commands/image.ts";
import { DrayCommand } from "./dray-command.ts";
import { drayVersion } from "./dray-version.ts";
import type { TargetFlags } from "./target.ts";
import { applyVerbosity, type VerbosityFlags } from "./verbosity.ts";

/** The commands; the code of each is loaded only when it runs, so that all of them start fast. */
export function commandLine(): DrayCommand {
  const program = new DrayCommand("dray");
  program
    .description("Kubernetes Dynamic Resource Allocation: clusters, drivers, answers")
    .option("-V, --version", "print the version, and end")
    .addOption(
      new Option("-v, --verbose", "say more: details, debug lines in logs; -vv: stacks of errors, too")
        .argParser((_, count: number) => count + 1)
        .default(0, "no"),
    )
    .addOption(new Option("-q, --quiet", "print data and errors only").conflicts("verbose"))
    .addHelpText("after", example("dray up --detach\ndray status\ndray down"))
    .on("option:version", () => {
      process.stdout.write(`dray ${drayVersion()}\n`);
      throw new CommanderError(0, "commander.version", "");
    })
    .hook("preAction", (_, command) => applyVerbosity(program.opts<VerbosityFlags>(), command.name()));

  program
    .command("up")
    .description("start a cluster, or continue the one in the data directory")
    .addOption(clusterName())
    .addOption(dataDir())
    .option(
      "--nodes <count>",
      "number of worker nodes (default: what the cluster has; for a new one 2, or 0 with --simulated-nodes)",
    )
    .option(
      "--simulated-nodes <count>",
      "number of nodes beside them that run no containers, and only say so of their pods; all: those of --fleet (default: what the cluster has)",
    )
    .option("--port <port>", "port of the API server (default: a free one, then the same again)")
    .option(
      "--bind-address <address>",
      "address that the API server listens on; 0.0.0.0 or ::: all of the machine's (default: 127.0.0.1)",
    )
    .option(
      "--advertise-address <address>",
      "where others reach the API server (default: the bind address, or that of this machine)",
    )
    .option(
      "--kubeconfig <file>",
      "add the cluster to this kubeconfig, and make it the current context (default: $KUBECONFIG; without it none)",
    )
    .option("--store <store>", "sqlite:PATH, etcd:URL or memory (default: sqlite in the data directory)")
    .addOption(runtime().default(undefined, "host, or what the cluster has"))
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtimeConfig())
    .addOption(enableAdmissionPlugins())
    .addOption(image())
    .addOption(
      repeated(
        "--driver <driver>",
        "install a driver and its DeviceClass: NAME[:key=value,...], as in example:devices=4 (example: simulated GPUs, or with profile=net network cards, with profile=cpu CPUs; device-plugin-example: devices by number); may be repeated",
        "none",
      ),
    )
    .option(
      "--fleet <file>",
      "simulate the nodes and devices that a file describes, or that `kubectl get resourceslices -o yaml` printed; none: no longer",
    )
    .option(
      "--scheduler-config <file>",
      "a KubeSchedulerConfiguration for the scheduler: profiles, plugins, extenders; none: the defaults again",
    )
    .option("--detach", "return when the cluster is ready and leave it running")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addOption(new Option("--detached").hideHelp())
    .addHelpText(
      "after",
      example("dray up --detach\nexport KUBECONFIG=$(dray status -o kubeconfig)\nkubectl get nodes"),
    )
    .action(async (options) => (await import("./commands/up.ts")).up(options));

  program
    .command("down")
    .description("stop the cluster; its data stays, so that `dray up` continues")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--delete-data", "delete the data directory too")
    .addHelpText("after", example("dray down"))
    .action(async (options) => (await import("./commands/down.ts")).down(options));

  program
    .command("status")
    .description("show how the cluster is: processes, nodes, drivers, and where its logs are")
    .addOption(clusterName())
    .addOption(dataDir())
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml", "kubeconfig"]))
    .addHelpText(
      "after",
      `${example("dray status\ndray status -o json | jq -r '.nodes[] | select(.ready | not) | .name'\nexport KUBECONFIG=$(dray status -o kubeconfig)")}
Exit codes: 0 the cluster runs and all its nodes are ready, 1 anything else (there is none, it is stopped, it starts, a
process is dead, the API server does not respond, a node is not ready), 2 wrong usage. -o kubeconfig prints the path of
the file, and exits with 0 if the cluster's process runs.
`,
    )
    .action(async (options) => (await import("./commands/status.ts")).status(options));

  program
    .command("logs")
    .description("print what the components of a cluster have logged, merged in the order of time")
    .argument(
      "[component...]",
      "cluster, apiserver, scheduler, controller-manager, kubelet, kubelet/NODE or output",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .option("-f, --follow", "go on with new lines until Ctrl-C")
    .option("--since <time>", "only lines from then on: 10m, 1h30m, 2026-01-31T08:00:00Z (default: all)")
    .option("--tail <lines>", "only so many of the last lines (default: all)")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText(
      "after",
      `${example("dray logs -f\ndray logs scheduler --since 10m\ndray logs kubelet/worker-1 --tail 20")}
kubelet is the agents of all nodes, kubelet/worker-1 or worker-1 that of one. cluster is starts and stops, output what
a detached cluster printed outside of its logs. Times are local ones; -v adds the stacks of errors. Pods, drivers among
them, have logs of their own: kubectl logs.
`,
    )
    .action(async (names, options) => (await import("./commands/logs.ts")).logs(names, options));

  const images = program
    .command("image")
    .description("say which command stands for an image on the nodes of a cluster, running or not")
    .addHelpText("after", example("dray image map 'example.com/tool:*' '/usr/bin/tool --flag'"));
  images
    .command("map")
    .description("have containers of an image run a command of this machine from now on")
    .argument("<pattern>", "image reference; * matches anything")
    .argument(
      "<command>",
      "the command in one word, with quotes inside where its own words have blanks; or a folder of programs, with / at its end",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .addHelpText(
      "after",
      `${example("dray image map 'example.com/tool:*' '/usr/bin/tool --flag'\ndray image map 'example.com/driver:*' /opt/driver/bin/")}
The command replaces that of the pod, whose args follow it. A folder comes first in the PATH of containers, which run the
command of their pod: for images with several programs. Containers that run go on; those that wait for the image
start. The latest row that matches counts, before those of --image and those that are built in.
`,
    )
    .action(async (...args: [string, string, TargetFlags]) =>
      (await import("./commands/image.ts")).imageMap(...args),
    );
  images
    .command("unmap")
    .description("take back what `image map` has done for a pattern")
    .argument("<pattern>", "as it was mapped")
    .addOption(clusterName())
    .addOption(dataDir())
    .addHelpText("after", example("dray image unmap 'example.com/tool:*'"))
    .action(async (...args: [string, TargetFlags]) =>
      (await import("./commands/image.ts")).imageUnmap(...args),
    );
  images
    .command("list")
    .description(
      "print which images stand for which commands, in the order in which they are tried; with --runtime oci: the images that are there",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText("after", example("dray image list"))
    .action(async (options) => (await import("./commands/image.ts")).imageList(options));
  images
    .command("load")
    .description("load an image for nodes that run real containers (`dray up --runtime oci`)")
    .argument("<path>", "archive of `docker save`, or archive or folder in the OCI's image layout")
    .option("--as <name>", "name of the image, where it has none there: example.com/app:v1")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--oci-dir <folder>", "the folder of nodes that `dray kubelet` runs, instead of a cluster's")
    .addHelpText("after", example("docker save example.com/app:v1 > app.tar\ndray image load app.tar"))
    .action(async (...args: [string, ImageLoadOptions]) =>
      (await import("./commands/image.ts")).imageLoad(...args),
    );
  images
    .command("serve", { hidden: true })
    .description("serve a folder on port 80 of the pod's address, in place of nginx")
    .argument("<folder>", "what is served")
    .action(async (folder: string) => (await import("./images/serve.ts")).serveFiles(folder));

  program
    .command("demo")
    .description("run the tutorial on a cluster of its own, and leave nothing behind")
    .option("--pause", "wait for Enter after each step")
    .addHelpText("after", example("dray demo"))
    .action(async (options) => (await import("./commands/demo.ts")).demo(options));

  program
    .command("plan")
    .description("say where pods would land and with which devices, or why not; no cluster is needed")
    .addOption(
      repeated(
        "-f, --filename <file>",
        "manifests, or what `kubectl get -o yaml` printed: a file, a directory, - for standard input",
        "none",
      ),
    )
    .option("-R, --recursive", "read the folders in directories, too")
    .option("--live", "read the cluster of the current context, with lists only; -f adds to what it has")
    .addOption(kubeconfig("kubeconfig of a cluster to read (--live: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context("context of the kubeconfig, of a cluster to read"))
    .option(
      "-n, --namespace <name>",
      'where objects live that do not say it (default: that of the context, "default" without a cluster)',
    )
    .option("--add-nodes <count>", "add so many copies of a node; auto: say how many are needed")
    .option(
      "--like <node>",
      "the node that --add-nodes copies, with its ResourceSlices (auto: by default the best kind)",
    )
    .addOption(kubernetesVersion("the newest, or that of the cluster"))
    .addOption(featureGates())
    .addOption(
      new Option("-o, --output <format>", "output format; wide: a row for each request").choices([
        "json",
        "yaml",
        "wide",
      ]),
    )
    .addHelpText(
      "after",
      `${example("dray plan -f cluster.yaml -f new/\ndray plan --live -f new/\ndray plan -f cluster.yaml -f new/ --add-nodes auto --like node-1")}
where cluster.yaml is what this prints:
  kubectl get -A -o yaml nodes,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,pods,namespaces

Reads Nodes, ResourceSlices, DeviceClasses, DeviceTaintRules, ResourceClaims, ResourceClaimTemplates, Pods,
Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, Namespaces and PriorityClasses; leaves others aside. Of a
cluster it lists all of them: pods that wait, and those that a workload still lacks, are planned beside the manifests.
An object with a mistake is left out of the plan.

Exit codes: 0 every pod has a node (whatever the warnings say); 1 one has none, or the input has mistakes, or a cluster
cannot be read; 2 wrong usage.
`,
    )
    .action(async (options) => (await import("./commands/plan.ts")).plan(options));

  declareExplain(program);
  declareTop(program);
  declareDoctor(program);

  program
    .command("lint")
    .description("say what of manifests would be refused, or would hang, before they are applied")
    .argument("[files...]", "files, directories, - for standard input (the output of helm or kustomize)")
    .addOption(repeated("-f, --filename <file>", "the same as naming it alone; may be repeated", "none"))
    .option("-R, --recursive", "read the folders in directories, too")
    .option(
      "-n, --namespace <name>",
      'where objects live that do not say it (default: that of the context, "default" without a cluster)',
    )
    .addOption(
      repeated(
        "--cluster <file>",
        "what the cluster has, as `kubectl get -o yaml` printed it: known, and not checked itself",
        "none",
      ),
    )
    .option("--live", "ask the cluster of the current context what it has, with lists only")
    .addOption(kubeconfig("kubeconfig of a cluster to ask (--live: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context("context of the kubeconfig, of a cluster to ask"))
    .addOption(kubernetesVersion("the newest, or that of the cluster"))
    .addOption(featureGates())
    .option(
      "--runtime-config <config>",
      "api/all=true, resource.k8s.io/v1beta1=true, ...: API versions that are served",
    )
    .addOption(
      new Option("--severity <severity>", "the least that is printed")
        .choices(["error", "warning"])
        .default("warning"),
    )
    .addOption(repeated("--ignore <rules>", "comma-separated rules to leave out; may be repeated", "none"))
    .addOption(
      new Option("-o, --output <format>", "output format; github: annotations of a workflow").choices([
        "json",
        "yaml",
        "github",
      ]),
    )
    .addHelpText(
      "after",
      `${example("dray lint manifests/\nhelm template chart | dray lint - --kubernetes-version 1.36\ndray lint manifests/ --cluster cluster.yaml\ndray lint manifests/ --live -o github")}
docs/lint.md describes the rules. With ResourceSlices (and Nodes), among the manifests or of a cluster, it asks what
their devices can serve.

Exit codes: 0 no errors (whatever the warnings say), 1 errors, 2 wrong usage, or a file or the cluster cannot be read.
`,
    )
    .action(async (files, options) => (await import("./commands/lint.ts")).lint(files, options));

  program
    .command("migrate")
    .description("write manifests of older versions of DRA, and of device plugins, as resource.k8s.io/v1")
    .argument("[files...]", "files, directories, - for standard input (the output of helm or kustomize)")
    .addOption(repeated("-f, --filename <file>", "the same as naming it alone; may be repeated", "none"))
    .option("-R, --recursive", "read the folders in directories, too")
    .option("--write", "write the files themselves, instead of printing the result")
    .addOption(
      repeated(
        "--device-class <resource=class>",
        "the DeviceClass whose devices an extended resource stands for; may be repeated",
        "those among the manifests, and those of well-known drivers",
      ),
    )
    .addOption(new Option("-o, --output <format>", "output format (default: yaml)").choices(["json", "yaml"]))
    .addHelpText(
      "after",
      `${example("dray migrate manifests/ > migrated.yaml\ndray migrate -R manifests/ --write\nhelm template chart | dray migrate - --device-class example.com/gpu=gpu.example.com")}
Reads resource.k8s.io v1alpha1 to v1beta2, the field source of pods, and limits of extended resources such as
nvidia.com/gpu and nvidia.com/mig-1g.5gb, also in Deployments, Jobs and custom resources with pod templates. Comments
stay, and what is not concerned stays as it was written. What has no equivalent is noted on standard error.

Exit codes: 0 done (whatever the notes say); 1 a file cannot be read, and nothing is written; 2 wrong usage.
`,
    )
    .action(async (files, options) => (await import("./commands/migrate.ts")).migrate(files, options));

  const cel = program
    .command("cel")
    .description("check device selectors (CEL), and ask them about devices")
    .addHelpText("after", example(`dray cel check 'device.driver == "gpu.example.com"'`));
  const fresh = (): Option =>
    new Option("--new", "by the rules for new objects: only what the release and its gates know");
  cel
    .command("check")
    .description(
      "tell type and cost of a device selector, or of all expressions in manifests, or what is wrong; exit code 1 if any is",
    )
    .argument("[expression]", "the CEL expression; one that begins with - goes after --")
    .addOption(
      repeated(
        "-f, --filename <file>",
        "check every CEL expression in manifests (devices, admission policies, webhooks, CRDs): a file, a directory, -",
        "none",
      ),
    )
    .option("-R, --recursive", "read the folders in directories, too")
    .addOption(fresh())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText(
      "after",
      example(
        `dray cel check 'device.attributes["gpu.example.com"].model == "a100"'\ndray cel check -f manifests/ -R`,
      ),
    )
    .action(async (expression, options) => (await import("./commands/cel.ts")).celCheck(expression, options));
  cel
    .command("eval")
    .description("tell which devices a selector matches; exit code 1 if it is wrong or fails on a device")
    .argument("<expression>", "the CEL expression; one that begins with - goes after --")
    .addOption(repeated("-f, --filename <file>", "ResourceSlices: a file, a directory, - for standard input"))
    .option("-R, --recursive", "read the folders in directories, too")
    .addOption(fresh())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText(
      "after",
      example(
        `kubectl get resourceslices -o yaml > slices.yaml\ndray cel eval 'device.attributes["gpu.example.com"].model == "a100"' -f slices.yaml`,
      ),
    )
    .action(async (expression, options) => (await import("./commands/cel.ts")).celEval(expression, options));

  program
    .command("apiserver")
    .description("run the API server alone")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--port <port>", "port to listen on; 0: a free one", "6443")
    .option("--bind-address <address>", "address to listen on", "127.0.0.1")
    .option(
      "--kubeconfig <file>",
      "add the server to this kubeconfig, and make it the current context (default: in the data directory)",
    )
    .option("--store <store>", "sqlite:PATH, etcd:URL or memory (default: sqlite in the data directory)")
    .addOption(enableAdmissionPlugins())
    .option("--disable-admission-plugins <names>", "comma-separated names of admission plugins to leave out")
    .option(
      "--enable-bootstrap-token-auth [boolean]",
      "believe the bootstrap tokens in Secrets of kube-system (default: false)",
    )
    .option("--anonymous-auth [bool]", "let who has no credentials be system:anonymous (default: true)")
    .option("--token-auth-file <file>", 'lines of token,user,uid,"group1,group2": static tokens')
    .option("--client-ca-file <file>", "authorities whose client certificates are believed, beside our own")
    .option("--tls-cert-file <file>", "serving certificate, with --tls-private-key-file (default: our own)")
    .option("--tls-private-key-file <file>", "its key")
    .option("--service-account-issuer <issuer>", "who service-account tokens say that they are from")
    .option(
      "--service-account-jwks-uri <url>",
      "where others read the keys of tokens (default: at this server)",
    )
    .option(
      "--service-account-signing-key-file <file>",
      "private key that signs service-account tokens (default: our own)",
    )
    .addOption(
      repeated(
        "--service-account-key-file <file>",
        "keys whose service-account tokens are believed; may be repeated",
        "the one that signs",
      ),
    )
    .option(
      "--service-cluster-ip-range <cidrs>",
      "CIDR of the services' addresses, or one of each family (default: 10.0.0.0/24)",
    )
    .option(
      "--service-node-port-range <ports>",
      "ports that services may have on the nodes (default: 30000-32767)",
    )
    .option(
      "--advertise-address <address>",
      "where the service kubernetes finds the server (default: the bind address, or that of this machine)",
    )
    .option(
      "--kubelet-certificate-authority <file>",
      "authorities of the kubelets' serving certificates (default: these are not verified)",
    )
    .option(
      "--kubelet-client-certificate <file>",
      "client certificate for kubelets, with --kubelet-client-key (default: our own)",
    )
    .option("--kubelet-client-key <file>", "its key")
    .option(
      "--kubelet-preferred-address-types <types>",
      "order in which a node's addresses are tried (default: InternalIP,ExternalIP,Hostname,InternalDNS,ExternalDNS)",
    )
    .option(
      "--proxy-client-cert-file <file>",
      "what API servers behind this one know it by, with --proxy-client-key-file (default: our own)",
    )
    .option("--proxy-client-key-file <file>", "its key")
    .option(
      "--requestheader-client-ca-file <file>",
      "authorities of front proxies, which name the user in headers; beside our own",
    )
    .option("--requestheader-allowed-names <names>", "common names of front proxies (default: any)")
    .option("--requestheader-username-headers <names>", "headers of the user's name (default: X-Remote-User)")
    .option("--requestheader-uid-headers <names>", "headers of the user's uid (default: X-Remote-Uid)")
    .option("--requestheader-group-headers <names>", "headers of its groups (default: X-Remote-Group)")
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "beginning of headers of more about it (default: X-Remote-Extra-)",
    )
    .option("--kubelet-timeout <duration>", "accepted, and without effect, as in kube-apiserver")
    .option("--request-timeout <duration>", "what a request may take: 1m0s, 90s, ... (default: 1m0s)")
    .option(
      "--enable-priority-and-fairness [boolean]",
      "limit requests by FlowSchemas and priority levels (default: true)",
    )
    .option(
      "--max-requests-inflight <count>",
      "with --max-mutating-requests-inflight: the seats that priority levels share; without priority and fairness: reads worked on at a time, 0: any number (default: 400)",
    )
    .option(
      "--max-mutating-requests-inflight <count>",
      "see --max-requests-inflight; without priority and fairness: other requests worked on at a time (default: 200)",
    )
    .addOption(runtimeConfig())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addHelpText("after", example("dray apiserver --data-dir ./state --port 6443"))
    .action(async (options) => (await import("./commands/components.ts")).apiserver(options));

  program
    .command("scheduler")
    .description("run the scheduler against a cluster")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--config <file>", "KubeSchedulerConfiguration: profiles, plugins and their arguments, extenders")
    .addOption(
      new Option(
        "--scheduler-name <name>",
        "schedule the pods of this spec.schedulerName (default: default-scheduler)",
      ).conflicts("config"),
    )
    .option(
      "--leader-elect [boolean]",
      "run only while holding a lease (default: as --config says, else false)",
    )
    .option("--leader-elect-resource-name <name>", "name of the lease (default: kube-scheduler)")
    .option("--leader-elect-resource-namespace <namespace>", "its namespace (default: kube-system)")
    .option("--leader-elect-lease-duration <duration>", "how long others wait for a renewal (default: 15s)")
    .option("--leader-elect-renew-deadline <duration>", "how long renewing is tried (default: 10s)")
    .option("--leader-elect-retry-period <duration>", "between two tries (default: 2s)")
    .option("--port <port>", "port of /metrics, /healthz, /livez and /readyz over HTTP (default: none)")
    .option("--bind-address <address>", "where that port listens", "127.0.0.1")
    .addHelpText(
      "after",
      example(
        "dray scheduler --kubeconfig ./state/kubeconfig\ndray scheduler --config scheduler.yaml --port 10259",
      ),
    )
    .action(async (options) => (await import("./commands/scheduler.ts")).scheduler(options));

  program
    .command("simulated-nodes")
    .description("simulate nodes of a cluster, which run no containers and only say so of their pods")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--count <count>", "number of nodes: simulated-1 and so on (default: 0)")
    .option("--fleet <file>", "simulate the nodes and devices that a file describes, as for `dray up`")
    .option(
      "--address <address>",
      "address of the nodes, where the API server is told over HTTPS that no container runs",
      "127.0.0.1",
    )
    .option(
      "--tls-cert-file <file>",
      "certificate there, for API servers that verify those of kubelets (default: one that they do not know)",
    )
    .option("--tls-private-key-file <file>", "its key")
    .addHelpText(
      "after",
      `${example("dray simulated-nodes --kubeconfig admin.conf --count 500 --fleet fleet.yaml")}
Nodes stay when it ends, and become NotReady: kubectl delete nodes -l dray.dev/simulated removes them. The user may list,
watch and create Nodes, patch their status and that of Pods, list, watch and delete Pods, create and patch Leases in
kube-node-lease and Events, list and watch ResourceClaims; with a fleet, what its drivers need.
`,
    )
    .action(async (options) => (await import("./commands/simulated-nodes.ts")).simulateNodes(options));

  program
    .command("controller-manager")
    .description("run the controllers against a cluster")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--leader-elect", "run only while holding the lease kube-system/kube-controller-manager")
    .option("--port <port>", "port of /metrics, /healthz, /livez and /readyz over HTTP (default: none)")
    .option("--bind-address <address>", "where that port listens", "127.0.0.1")
    .option(
      "--controllers <list>",
      "which run: * are those that are on by default, foo one more, -foo one less (default: *)",
    )
    .option(
      "--cluster-signing-cert-file <file>",
      "authority that signs CertificateSigningRequests, with --cluster-signing-key-file (default: none are signed)",
    )
    .option("--cluster-signing-key-file <file>", "its key")
    .option(
      "--cluster-signing-duration <duration>",
      "what certificates are valid for at most (default: 8760h0m0s)",
    )
    .option(
      "--root-ca-file <file>",
      "authority that pods verify the API server with (default: the kubeconfig's)",
    )
    .option(
      "--service-account-private-key-file <file>",
      "key that signs the tokens in Secrets of service accounts (default: they get none)",
    )
    .option("--allocate-node-cidrs [boolean]", "give each node a network for its pods (default: false)")
    .option(
      "--cluster-cidr <cidrs>",
      "network of all pods, or one of each family; with --allocate-node-cidrs",
    )
    .option("--node-cidr-mask-size <bits>", "prefix length of a node's network (default: 24, IPv6 64)")
    .option("--node-cidr-mask-size-ipv4 <bits>", "the same for IPv4, with two networks")
    .option("--node-cidr-mask-size-ipv6 <bits>", "the same for IPv6, with two networks")
    .option("--service-cluster-ip-range <cidrs>", "networks of Services, which no node gets (default: none)")
    .option(
      "--terminated-pod-gc-threshold <count>",
      "number of pods that have ended and are kept; 0 keeps all (default: 12500)",
    )
    .addHelpText(
      "after",
      `${example("dray controller-manager --kubeconfig ./state/kubeconfig --cluster-signing-cert-file ./state/pki/ca.crt \\\n  --cluster-signing-key-file ./state/pki/ca.key --service-account-private-key-file ./state/pki/service-account.key")}
The names of controllers are kube-controller-manager's.
`,
    )
    .action(async (options) => (await import("./commands/components.ts")).controllerManager(options));

  program
    .command("kubelet")
    .description("run the agent of one node, or of several in one process")
    .addOption(repeated("--node-name <name>", "name of the node; may be repeated"))
    .addOption(repeated("--kubeconfig <file>", "kubeconfig of the node; the n-th belongs to the n-th node"))
    .addOption(
      repeated(
        "--root-dir <dir>",
        "folder that is the node's `/`; a short path; the n-th belongs to the n-th node",
      ),
    )
    .addOption(repeated("--tls-cert-file <file>", "serving certificate; n-th as above", "self-signed"))
    .addOption(
      repeated("--tls-private-key-file <file>", "its key; n-th as above", "that of the self-signed one"),
    )
    .option(
      "--rotate-server-certificates [boolean]",
      "nodes without a serving certificate ask the cluster for one, and again before it ends (default: false)",
    )
    .option(
      "--bootstrap-kubeconfig <file>",
      "with what nodes whose kubeconfig is missing ask for it, such as a bootstrap token (default: none)",
    )
    .addOption(
      repeated(
        "--pod-manifest-path <dir>",
        "folder of manifests of static pods; n-th as above",
        "etc/kubernetes/manifests in the root",
      ),
    )
    .addOption(repeated("--node-ip <address>", "address of the node; n-th as above", "127.0.0.1"))
    .addOption(
      repeated("--address <address>", "where its endpoints listen; n-th as above", "that of the node"),
    )
    .addOption(repeated("--port <port>", "port of the node's HTTPS endpoints; n-th as above", "any free one"))
    .addOption(
      repeated("--healthz-port <port>", "port of /healthz over HTTP on 127.0.0.1; n-th as above", "none"),
    )
    .addOption(
      repeated(
        "--read-only-port <port>",
        "port of metrics over HTTP, without authentication; n-th as above",
        "none",
      ),
    )
    .option("--max-pods <count>", "how many pods a node runs at most (default: 110)")
    .option("--log-file <file>", "where to log (default: standard error)")
    .option("--state-file <file>", "where to write how each node's agent fares, as JSON (default: nowhere)")
    .option(
      "--client-ca-file <file>",
      "CA of clients that may call the agents (default: that of the kubeconfig)",
    )
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(ociDir())
    .addOption(proxyKubeconfig())
    .addOption(image())
    .option(
      "--shutdown-grace-period <duration>",
      "on SIGTERM end the pods, within this time, since the machine goes down (default: 0s, pods go on)",
    )
    .option(
      "--shutdown-grace-period-critical-pods <duration>",
      "the last part of it, for pods of priority 2000000000 and above (default: 0s)",
    )
    .option(
      "--eviction-hard <thresholds>",
      "evict pods when less is left; '' for never (default: memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%)",
      joined,
    )
    .option(
      "--eviction-soft <thresholds>",
      "evict pods when less is left for a grace period, as in memory.available<1Gi (default: none)",
      joined,
    )
    .option(
      "--eviction-soft-grace-period <periods>",
      "grace periods of soft thresholds, as in memory.available=1m30s (default: none)",
      joined,
    )
    .option(
      "--eviction-minimum-reclaim <amounts>",
      "how much more than a threshold has to be free again, as in nodefs.available=500Mi (default: none)",
      joined,
    )
    .option(
      "--eviction-pressure-transition-period <duration>",
      "how long the Node says that it is under pressure after it was (default: 5m)",
    )
    .option(
      "--eviction-max-pod-grace-period <seconds>",
      "how long pods may take to end because of a soft threshold (default: 0)",
    )
    .option(
      "--image-gc-high-threshold <percent>",
      "remove unused images when so much of their disk is used; 100: never (default: 85)",
    )
    .option("--image-gc-low-threshold <percent>", "until so much is used (default: 80)")
    .option("--minimum-image-ttl-duration <duration>", "younger images stay (default: 2m)")
    .option(
      "--image-maximum-gc-age <duration>",
      "remove images that were not used for so long; 0s: never (default: 0s)",
    )
    .option("--pod-max-pids <count>", "how many processes a pod may have; -1: any number (default: -1)")
    .option("--node-labels <labels>", "labels of the Node, as in zone=a,disk=ssd (default: none)", joined)
    .option(
      "--register-with-taints <taints>",
      "taints of a Node that is new, as in gpu=yes:NoSchedule (default: none)",
      joined,
    )
    .option("--container-log-max-size <bytes>", "size from which on a log is rotated (default: 10Mi)")
    .option("--container-log-max-files <count>", "files of logs that a container has at most (default: 5)")
    .option(
      "--topology-manager-policy <policy>",
      "none, or best-effort: devices of device plugins from one NUMA node (default: none)",
    )
    .option(
      "--cluster-dns <addresses>",
      "DNS servers of pods, as in 10.96.0.10 (default: with --proxy-kubeconfig the agent's own, else the machine's)",
      joined,
    )
    .option("--cluster-domain <domain>", "domain of Services and pods (default: cluster.local)")
    .option(
      "--resolv-conf <file>",
      "names the DNS servers of the machine, for pods and for what is not the cluster's (default: /etc/resolv.conf)",
    )
    .option(
      "--dra-wipe-delay <duration>",
      "how long a DRA driver may be away before its ResourceSlices go (default: 30s)",
    )
    .addHelpText(
      "after",
      example("dray kubelet --node-name n1 --kubeconfig n1.kubeconfig --root-dir /run/n1"),
    )
    .action(async (options) => (await import("./commands/kubelet.ts")).kubelet(options));

  program
    .command("node-agents", { hidden: true })
    .description("run the agents of the nodes that `dray up` names")
    .requiredOption("--client-ca-file <file>", "CA of clients that may call the agents")
    .requiredOption("--log-file <file>", "where to log")
    .option("--state-file <file>", "where to write how each node's agent fares, as JSON")
    .option("--images-file <file>", "the images that `dray image map` has mapped")
    .addOption(ociDir())
    .addOption(proxyKubeconfig())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(image())
    .addHelpText("after", example("dray node-agents --client-ca-file ca.crt --log-file agents.log"))
    .action(async (options) => (await import("./commands/kubelet.ts")).nodeAgents(options));

  const driver = program
    .command("driver")
    .description("run a driver that Dray ships")
    .addHelpText("after", example("NODE_NAME=n1 dray driver example"));
  driver
    .command("example")
    .description("simulated GPUs, network cards or CPUs; flags and environment configure it (--help)")
    .argument("[flags...]")
    // What follows is the program's own, as where it runs alone.
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText("after", example("NODE_NAME=n1 dray driver example"))
    .action(async (flags) => (await import("@dray/driver-example")).runProgram(flags, process.env));
  driver
    .command("simulate")
    .description("run the drivers that a fleet file has for one node")
    .requiredOption("--fleet <file>", "the fleet, or what `kubectl get resourceslices -o yaml` printed")
    .option("--node-name <name>", "the node that this runs on (default: $NODE_NAME)")
    .addOption(kubeconfig())
    .addOption(context())
    .option(
      "--registrar-dir <dir>",
      "registration sockets (default: $KUBELET_REGISTRAR_DIRECTORY_PATH, /var/lib/kubelet/plugins_registry)",
    )
    .option(
      "--plugins-dir <dir>",
      "sockets and data of drivers (default: $KUBELET_PLUGINS_DIRECTORY_PATH, /var/lib/kubelet/plugins)",
    )
    .option("--cdi-dir <dir>", "CDI files (default: $CDI_ROOT, /var/run/cdi)")
    .addHelpText(
      "after",
      example("dray driver simulate --fleet fleet.yaml --node-name n1 --kubeconfig n1.kubeconfig"),
    )
    .action(async (options) => (await import("./commands/simulate.ts")).simulate(options));

  driver
    .command("device-plugin-example")
    .description("a device plugin of simulated devices; flags configure it (--help)")
    .argument("[flags...]")
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText("after", example("dray driver device-plugin-example --resource nvidia.com/gpu --count 8"))
    .action(async (flags) => (await import("@dray/device-plugin-example")).runProgram(flags));

  program
    .command("simulation", { hidden: true })
    .description("run the simulated drivers of the nodes that `dray up` names")
    .requiredOption("--log-file <file>", "where to log")
    .addHelpText("after", example("dray simulation --log-file drivers.log"))
    .action(async (options) => (await import("./commands/simulate.ts")).simulation(options));

  const device = program
    .command("device")
    .description("list devices and who has them, and break and heal simulated ones")
    .addHelpText("after", example("dray device break worker-1/gpu-0"));
  const ofCluster = (command: Command): Command =>
    command
      .addOption(clusterName())
      .addOption(dataDir())
      .addOption(kubeconfig("kubeconfig of another cluster"))
      .addOption(context("context of the kubeconfig, of another cluster"));
  const deviceArgument = "NODE/DEVICE, NODE/DRIVER/POOL/DEVICE; of the network: DRIVER/POOL/DEVICE";
  ofCluster(device.command("list"))
    .description("print the devices of a cluster and how they are")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText("after", example("dray device list"))
    .action(async (options) => (await import("./commands/device.ts")).deviceList(options));
  device
    .command("holders")
    .description("print which containers have which devices, as the kubelets' pod resources API says it")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--node <node>", "of one node of the cluster")
    .option("--socket <path>", "of another kubelet: /var/lib/kubelet/pod-resources/kubelet.sock")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText("after", example("dray device holders"))
    .action(async (options) => (await import("./commands/device-holders.ts")).deviceHolders(options));
  ofCluster(device.command("break"))
    .description("make a simulated device unhealthy: its slice gets a taint, its pods are told")
    .argument("<device>", deviceArgument)
    .option("--message <text>", "what is wrong with it")
    .addOption(
      new Option("--effect <effect>", "effect of the taint (default: as the fleet says, NoSchedule)").choices(
        ["NoSchedule", "NoExecute", "None"],
      ),
    )
    .addHelpText("after", example("dray device break worker-1/gpu-0 --message 'too many ECC errors'"))
    .action(async (name, options) => (await import("./commands/device.ts")).deviceBreak(name, options));
  ofCluster(device.command("heal"))
    .description("make a simulated device healthy again")
    .argument("<device>", deviceArgument)
    .addHelpText("after", example("dray device heal worker-1/gpu-0"))
    .action(async (name, options) => (await import("./commands/device.ts")).deviceHeal(name, options));

  program
    .command("kubectl", { hidden: true })
    .description("the few verbs of kubectl that the demo needs, for machines without it")
    .argument("[arguments...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (_args, _options, command: Command) =>
      (await import("./kubectl/kubectl.ts")).kubectl(command.args),
    );

  program
    .command("completion")
    .description("print a script that completes commands, options and their values in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `${example("source <(dray completion bash)")}
bash: add that line to ~/.bashrc.
zsh:  dray completion zsh > "\${fpath[1]}/_dray", and begin a new shell.
fish: dray completion fish > ~/.config/fish/completions/dray.fish
`,
    )
    .action(async (shell) => (await import("./commands/completion.ts")).completion(shell, program));

  program
    .command("version")
    .description("print the versions of Dray, of Node and of the Kubernetes releases it speaks")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml"]))
    .addHelpText("after", example("dray version -o json"))
    .action(async (options) => (await import("./commands/version.ts")).version(options));

  return program;
}
