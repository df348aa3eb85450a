export interface ChaosOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Those beyond the third have simulated devices and a crowd of pods. */
  readonly nodes: number;
  /** The parts of the control plane are processes of their own, which are killed alone. */
  readonly split: boolean;
  /** Leaves the cluster running if something did not hold, to look at. */
  readonly keep: boolean;
  progress(line: string): void;
}
