/**
 * Feature gates of the Kubernetes components that change nothing in Dray, so that command lines that set them
 * work.
 * Upstream: test/compatibility_lifecycle/reference/versioned_feature_list.yaml of 1.34.1, 1.35.0, 1.36.3 and
 * 1.37.1
 */

/**
 * One character a release, oldest first: `.` can be set, `T` locked to true, `F` locked to false, `-`
 * unknown.
 */
const gates: Readonly<Record<string, string>> = {
  "---.": `
    APIServerWebhookAuthenticationToken ConsistentListFromCacheSkipTimeoutFallback DefaultPodSysctls
    EtcdRangeStream ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore
    HugepageAwareEviction InPlacePodVerticalScalingMemoryBackedVolumes
    InterPodAffinityHostnameFastPath KubeProxyIPVS KubeProxyNFTablesLocalhostNodePorts
    KubeletAllocatedPodsEndpoint NFTablesNetlink NodeControllerLeaseCircuitBreaker
    NodeLifecycleConditions PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass
    SchedulerPreQueueingHints StaleControllerConsistencyHPA StatefulSetRecreateStrategy
    WatchListCompression WebhookRoundTripLoadBalancing`,
  "--..": `
    AllowServiceExternalIPs CRIListStreaming ControllerManagerReleaseLeaderElectionLockOnExit
    CustomCPUCFSQuotaPeriod DeclarativeValidationBeta ExtendWebSocketsToKubelet
    ManifestBasedAdmissionControlConfig NativeHistograms PersistentVolumeClaimUnusedSinceTime
    PodLevelResourceManagers PodsAPI ReloadKubeletClientCAFile RuntimeClassInImageCriApi
    ServiceCIDRStatusFieldWiping ShardedListAndWatch StaleControllerConsistencyDaemonSet
    StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
    StaleControllerConsistencyStatefulSet`,
  "--.T": "InPlacePodVerticalScalingInitContainers",
  "-...": `
    AuthorizePodWebsocketUpgradeCreatePermission ChangeContainerStatusOnKubeletRestart
    CloudControllerManagerWatchBasedRoutesReconciliation ConstrainedImpersonation
    MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs
    MutableSchedulingDirectivesForSuspendedJobs OpportunisticBatching
    RestartAllContainersOnContainerExits StatefulSetSemanticRevisionComparison
    StructuredAuthenticationConfigurationJWKSMetrics UserNamespacesHostNetworkSupport`,
  ".---": "UserNamespacesPodSecurityStandards",
  "..--": `
    CPUCFSQuotaPeriod InPlacePodVerticalScalingAllocatedStatus InTreePluginPortworxUnregister
    RuntimeClassInImageCriAPI`,
  "...-": "PreventStaticPodAPIReferences",
  "....": `
    APIResponseCompression APIServerIdentity APIServingWithRoutine AllowDNSOnlyNodeCSR
    AllowInsecureKubeletCertificateSigningRequests AllowParsingUserUIDFromCertAuth
    AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
    CPUManagerPolicyBetaOptions ClearingNominatedNodeNameAfterBinding CloudControllerManagerWebhook
    ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode ContainerCheckpoint
    ContextualLogging DetectCacheInconsistency EventedPLEG GracefulNodeShutdown
    GracefulNodeShutdownBasedOnPodPriority InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory KMSv1 KubeletCrashLoopBackOffMax
    KubeletEnsureSecretPulledImages KubeletPodResourcesListUseActivePods
    KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC
    KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
    LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions LoggingBetaOptions
    MatchLabelKeysInPodTopologySpreadSelectorMerge MemoryQoS NominatedNodeNameForExpectation
    OpenAPIEnums PodAndContainerStatsFromCRI PodDeletionCost PodLogsQuerySplitStreams
    PodTopologyLabelsAdmission PortForwardWebsockets QOSReserved ReduceDefaultCrashLoopBackOffDecay
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID RotateKubeletServerCertificate
    SELinuxMount SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ
    ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StorageCapacityScoring
    StorageNamespaceIndex StorageVersionAPI StorageVersionHash StrictIPCIDRValidation
    StructuredAuthenticationConfigurationEgressSelector TokenRequestServiceAccountUIDValidation
    TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions
    TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
    UnknownVersionInteroperabilityProxy WatchList WindowsCPUAndMemoryAffinity
    WindowsGracefulNodeShutdown WindowsHostNetwork`,
  "...F": "DeclarativeValidationTakeover",
  "...T": `
    DisableCPUQuotaWithExclusiveCPUs PodReadyToStartContainersCondition RelaxedServiceNameValidation
    WatchCacheInitializationPostStartHook`,
  "..FF": "GitRepoVolumeDriver SeparateCacheWatchRPC",
  "..TT": `
    DeclarativeValidation DisableNodeKubeProxyVersion ExternalServiceAccountTokenSigner
    KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
    NodeLogQuery ProcMountType TopologyManagerPolicyOptions`,
  ".FFF": "AllowOverwriteTerminationGracePeriodSeconds",
  ".TTT": `
    AggregatedDiscoveryRemoveBetaType DisableAllocatorDualWrite ExecProbeTimeout ImageMaximumGCAge
    PreferSameTrafficDistribution SystemdWatchdog`,
  "F---": "AllowServiceLBStatusOnNonLB",
  "FF--": "WatchFromStorageWithoutResourceVersion",
  "T---": `
    ComponentSLIs CronJobsScheduledAnnotation LoadBalancerIPMode PodIndexLabel
    ProbeHostPodSecurityStandards SizeMemoryBackedVolumes StatefulSetAutoDeletePVC
    StrictCostEnforcementForVAP StrictCostEnforcementForWebhooks`,
  "TT--": `
    CSIMigrationPortworx HonorPVReclaimPolicy MemoryManager ServiceTrafficDistribution
    StructuredAuthorizationConfiguration TopologyAwareHints`,
  "TTT-": `
    APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache
    JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown
    OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
    RelaxedDNSSearchValidation ResilientWatchCacheInitialization RetryGenerateName
    SchedulerQueueingHints SidecarContainers StreamingCollectionEncodingToJSON
    StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration`,
  TTTT: `
    CPUManagerPolicyOptions CRDValidationRatcheting CustomResourceFieldSelectors
    KubeletCgroupDriverFromCRI KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
    NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeSwap PodSchedulingReadiness
    RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation
    SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo WinDSR WinOverlay`,
};

const states = new Map(
  Object.entries(gates).flatMap(([releases, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, releases] as const),
  ),
);

/** State of the gate in the release at this index; undefined if no release has the gate. */
export function otherGateState(
  name: string,
  release: number,
): "settable" | "locked on" | "locked off" | "unknown" | undefined {
  const state = states.get(name)?.charAt(release);
  if (state === undefined) return undefined;
  return state === "." ? "settable" : state === "T" ? "locked on" : state === "F" ? "locked off" : "unknown";
}

/** The names of the gates of the release at this index. */
export function otherGates(release: number): string[] {
  return [...states].filter(([, releases]) => releases.charAt(release) !== "-").map(([name]) => name);
}
