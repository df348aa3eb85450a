export { type Scheduler, type SchedulerOptions, startScheduler } from "./scheduler.ts";
