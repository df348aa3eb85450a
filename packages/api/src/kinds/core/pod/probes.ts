import type { FieldErrors } from "../../../checks/field.ts";
import type {
  Container,
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  PodSpec,
  Probe,
  SleepAction,
  TCPSocketAction,
} from "../../../generated/core/v1.ts";
import type { IntOrString } from "../../../objects/object.ts";
import { isPortName, rangeProblem } from "../../../values/names.ts";

export function checkPort(errors: FieldErrors, port: number): void {
  for (const problem of rangeProblem(port, 1, 65535)) errors.invalid(port, problem);
}

export function checkPortReference(errors: FieldErrors, port: IntOrString | undefined): void {
  if (typeof port === "string") errors.check(isPortName, port);
  else checkPort(errors, port ?? 0);
}

interface Handler {
  readonly exec?: ExecAction;
  readonly httpGet?: HTTPGetAction;
  readonly tcpSocket?: TCPSocketAction;
  readonly grpc?: GRPCAction;
  readonly sleep?: SleepAction;
}

function checkHttp(errors: FieldErrors, action: HTTPGetAction): void {
  if (!action.path) errors.at("path").required();
  checkPortReference(errors.at("port"), action.port);
  const schemes = ["HTTP", "HTTPS"];
  if (!schemes.includes(action.scheme ?? "")) {
    errors.at("scheme").notSupported(action.scheme ?? "", schemes);
  }
  for (const { name = "" } of action.httpHeaders ?? []) {
    if (/^[-A-Za-z0-9]+$/.test(name)) continue;
    const detail =
      "a valid HTTP header must consist of alphanumeric characters or '-' " +
      "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    errors.at("httpHeaders").invalid(name, detail);
  }
}

/** Checks that a probe or a hook has exactly one handler. `grace`: the pod's grace period in seconds. */
function checkHandler(errors: FieldErrors, handler: Handler, grace: number | undefined): void {
  let count = 0;
  const first = (name: string): boolean => {
    count++;
    if (count > 1) errors.at(name).forbidden("may not specify more than 1 handler type");
    return count === 1;
  };
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (exec && first("exec") && (exec.command ?? []).length === 0) errors.at("exec.command").required();
  if (httpGet && first("httpGet")) checkHttp(errors.at("httpGet"), httpGet);
  if (tcpSocket && first("tcpSocket")) checkPortReference(errors.at("tcpSocket.port"), tcpSocket.port);
  if (grpc && first("grpc")) checkPortReference(errors.at("grpc.port"), grpc.port);
  if (sleep && first("sleep")) {
    const seconds = Number(sleep.seconds ?? 0);
    if (grace !== undefined && (seconds < 0 || seconds > grace)) {
      const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
      errors.at("sleep").invalid(seconds, detail);
    }
  }
  if (count === 0) errors.required("must specify a handler type");
}

const counts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(
  errors: FieldErrors,
  probe: Probe | undefined,
  readiness: boolean,
  grace: number | undefined,
): void {
  if (!probe) return;
  checkHandler(errors, probe, grace);
  for (const name of counts) {
    const value = probe[name] ?? 0;
    if (value < 0) errors.at(name).invalid(value, "must be greater than or equal to 0");
  }
  const seconds = probe.terminationGracePeriodSeconds;
  const here = errors.at("terminationGracePeriodSeconds");
  const given = seconds !== undefined && seconds !== null;
  if (given && seconds <= 0) here.invalid(seconds, "must be greater than 0");
  if (readiness) {
    if (given) here.invalid(seconds, "must not be set for readinessProbes");
  } else if (probe.successThreshold !== 1) {
    errors.at("successThreshold").invalid(probe.successThreshold ?? 0, "must be 1");
  }
}

const signals = (
  "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL " +
  "SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMAX-1 SIGRTMAX-10 SIGRTMAX-11 SIGRTMAX-12 SIGRTMAX-13 SIGRTMAX-14 SIGRTMAX-2 " +
  "SIGRTMAX-3 SIGRTMAX-4 SIGRTMAX-5 SIGRTMAX-6 SIGRTMAX-7 SIGRTMAX-8 SIGRTMAX-9 SIGRTMIN SIGRTMIN+1 SIGRTMIN+10 " +
  "SIGRTMIN+11 SIGRTMIN+12 SIGRTMIN+13 SIGRTMIN+14 SIGRTMIN+15 SIGRTMIN+2 SIGRTMIN+3 SIGRTMIN+4 SIGRTMIN+5 " +
  "SIGRTMIN+6 SIGRTMIN+7 SIGRTMIN+8 SIGRTMIN+9 SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN " +
  "SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ"
).split(" ");

function checkStopSignal(errors: FieldErrors, signal: string, system: string | undefined): void {
  if (system === undefined) {
    errors.forbidden("may not be set for containers with empty `spec.os.name`");
    return;
  }
  const known = system === "windows" ? ["SIGKILL", "SIGTERM"] : signals;
  if (["linux", "windows"].includes(system) && !known.includes(signal)) errors.notSupported(signal, known);
}

function checkLifecycle(
  errors: FieldErrors,
  container: Container,
  spec: PodSpec,
  grace: number | undefined,
): void {
  const { postStart, preStop, stopSignal } = container.lifecycle ?? {};
  if (postStart) checkHandler(errors.at("postStart"), postStart, grace);
  if (preStop) checkHandler(errors.at("preStop"), preStop, grace);
  if (stopSignal !== undefined && stopSignal !== null) {
    checkStopSignal(errors.at("stopSignal"), stopSignal, spec.os?.name);
  }
}

/** Hooks and probes of a container. */
export function checkProbes(errors: FieldErrors, container: Container, spec: PodSpec): void {
  const seconds = spec.terminationGracePeriodSeconds;
  const grace = seconds === undefined || seconds === null ? undefined : Number(seconds);
  checkLifecycle(errors.at("lifecycle"), container, spec, grace);
  checkProbe(errors.at("livenessProbe"), container.livenessProbe, false, grace);
  checkProbe(errors.at("readinessProbe"), container.readinessProbe, true, grace);
  checkProbe(errors.at("startupProbe"), container.startupProbe, false, grace);
}
