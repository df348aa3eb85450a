export function program(args: readonly string[]): Promise<string[]>;
/** Variables of the environment of each Node that runs Dray. */
export const environment: Readonly<Record<string, string>>;
