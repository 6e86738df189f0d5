/**
 * Every command of the DevTools protocol, allowed or refused. Those whose
 * parameters decide have a rule in `client-rules.ts`.
 *
 * A command that is in none of the three is refused, so that a new Chromium adds
 * nothing unseen. The test compares the three with the description in the
 * `devtools-protocol` package and prints what is missing here.
 */

/** Names by domain. */
type CommandTable = Readonly<Record<string, string>>;

const allowed: CommandTable = {
  Accessibility: 'disable enable getAXNodeAndAncestors getChildAXNodes getFullAXTree getPartialAXTree getRootAXNode queryAXTree',
  Ads: 'getAdMetrics getAdScripts',
  Animation: `
    disable enable getCurrentTime getPlaybackRate releaseAnimations resolveAnimation seekAnimations setPaused setPlaybackRate
    setTiming`,
  Audits: 'checkFormsIssues disable enable getEncodedResponse',
  Autofill: 'disable enable setAddresses trigger',
  BackgroundService: 'clearEvents setRecording startObserving stopObserving',
  BluetoothEmulation: `
    addCharacteristic addDescriptor addService disable enable removeCharacteristic removeDescriptor removeService
    setSimulatedCentralState simulateAdvertisement simulateCharacteristicOperationResponse simulateDescriptorOperationResponse
    simulateGATTDisconnection simulateGATTOperationResponse simulatePreconnectedPeripheral`,
  Browser: `
    addMockCamera addPrivacySandboxEnrollmentOverride cancelDownload getGlobalPrivacyControl getHistogram getHistograms getVersion
    getWindowBounds getWindowForTarget grantPermissions resetPermissions setContentsSize setDockTile setGlobalPrivacyControl
    setPermission setWindowBounds`,
  CSS: `
    addRule collectClassNames createStyleSheet disable enable forcePositionTryOption forcePseudoState forceStartingStyle
    getAnimatedStylesForNode getBackgroundColors getComputedStyleForNode getEnvironmentVariables getInlineStylesForNode
    getLayersForNode getLocationForSelector getLonghandProperties getMatchedStylesForNode getMediaQueries getPlatformFontsForNode
    getStyleSheetText resolveValues setContainerQueryConditionText setContainerQueryText setEffectivePropertyValueForNode
    setKeyframeKey setLocalFontsEnabled setMediaText setNavigationText setPropertyRulePropertyName setRuleSelector setScopeText
    setStyleSheetText setStyleTexts setSupportsText startRuleUsageTracking stopRuleUsageTracking takeComputedStyleUpdates
    takeCoverageDelta trackComputedStyleUpdates trackComputedStyleUpdatesForNode`,
  CacheStorage: 'deleteCache deleteEntry requestCachedResponse requestCacheNames requestEntries',
  Console: 'clearMessages disable enable',
  CrashReportContext: 'getEntries',
  DOM: `
    clearTextMarkers collectClassNamesFromSubtree copyTo describeNode disable discardSearchResults enable focus forceShowInterest
    forceShowPopover getAnchorElement getAttributes getBoxModel getContainerForNode getContentQuads getDetachedDomNodes getDocument
    getElementByRelation getFileInfo getFlattenedDocument getFrameOwner getImplicitAnchorCandidates getNodeForLocation
    getNodesForSubtreeByStyle getNodeStackTraces getOuterHTML getQueryingDescendantsForContainer getRelayoutBoundary getSearchResults
    getTopLayerElements hideHighlight highlightNode highlightRect markUndoableState moveTo performSearch pushNodeByPathToFrontend
    pushNodesByBackendIdsToFrontend querySelector querySelectorAll redo removeAttribute removeNode requestChildNodes requestNode
    resolveNode scrollIntoViewIfNeeded setAttributesAsText setAttributeValue setInspectedNode setNodeName setNodeStackTracesEnabled
    setNodeValue setOuterHTML setTextMarker undo`,
  DOMDebugger: `
    getEventListeners removeDOMBreakpoint removeEventListenerBreakpoint removeInstrumentationBreakpoint removeXHRBreakpoint
    setBreakOnCSPViolation setDOMBreakpoint setEventListenerBreakpoint setInstrumentationBreakpoint setXHRBreakpoint`,
  DOMSnapshot: 'captureSnapshot disable enable getSnapshot',
  DOMStorage: 'clear disable enable getDOMStorageItems removeDOMStorageItem setDOMStorageItem',
  Debugger: `
    continueToLocation disable disassembleWasmModule enable evaluateOnCallFrame getPossibleBreakpoints getScriptSource getStackTrace
    getWasmBytecode nextWasmDisassemblyChunk pause pauseOnAsyncCall removeBreakpoint restartFrame resume searchInContent
    setAsyncCallStackDepth setBlackboxedRanges setBlackboxExecutionContexts setBlackboxPatterns setBreakpoint setBreakpointByUrl
    setBreakpointOnFunctionCall setBreakpointsActive setInstrumentationBreakpoint setPauseOnExceptions setReturnValue setScriptSource
    setSkipAllPauses setVariableValue stepInto stepOut stepOver`,
  DeviceAccess: 'cancelPrompt disable enable selectPrompt',
  DeviceOrientation: 'clearDeviceOrientationOverride setDeviceOrientationOverride',
  DigitalCredentials: 'setVirtualWalletBehavior',
  Emulation: `
    addScreen canEmulate clearDeviceMetricsOverride clearDevicePostureOverride clearDisplayFeaturesOverride clearGeolocationOverride
    clearIdleOverride getOverriddenSensorInformation getScreenInfos removeScreen resetPageScaleFactor setAutoDarkModeOverride
    setAutomationOverride setCPUPerformanceOverride setCPUThrottlingRate setDataSaverOverride setDefaultBackgroundColorOverride
    setDeviceMetricsOverride setDevicePostureOverride setDisabledImageTypes setDisplayFeaturesOverride setDocumentCookieDisabled
    setEmitTouchEventsForMouse setEmulatedMedia setEmulatedOSTextScale setEmulatedVisionDeficiency setFocusEmulationEnabled
    setGeolocationOverride setHardwareConcurrencyOverride setIdleOverride setLocaleOverride setNavigatorOverrides setPageScaleFactor
    setPressureSourceOverrideEnabled setPressureStateOverride setPrimaryScreen setSafeAreaInsetsOverride setScriptExecutionDisabled
    setScrollbarsHidden setSensorOverrideEnabled setSensorOverrideReadings setSmallViewportHeightDifferenceOverride
    setTimezoneOverride setTouchEmulationEnabled setUserAgentOverride setVirtualKeyboardGeometryOverride setVirtualTimePolicy
    setVisibleSize updateScreen`,
  EventBreakpoints: 'disable removeInstrumentationBreakpoint setInstrumentationBreakpoint',
  FedCm: 'clickDialogButton disable dismissDialog enable openUrl resetCooldown selectAccount',
  Fetch: 'continueResponse continueWithAuth disable enable failRequest fulfillRequest getResponseBody takeResponseBodyAsStream',
  FileSystem: 'getDirectory',
  FindInPage: 'findFirst findNext findPrev stop',
  HeadlessExperimental: 'beginFrame disable enable',
  HeapProfiler: `
    addInspectedHeapObject collectGarbage disable enable getHeapObjectId getObjectByHeapObjectId getSamplingProfile startSampling
    startTrackingHeapObjects stopSampling stopTrackingHeapObjects takeHeapSnapshot`,
  IO: 'close read resolveBlob',
  IndexedDB: `
    clearObjectStore deleteDatabase deleteObjectStoreEntries disable enable getMetadata requestData requestDatabase
    requestDatabaseNames`,
  Input: `
    cancelDragging dispatchMouseEvent dispatchTouchEvent emulateTouchFromMouseEvent imeSetComposition insertText setIgnoreInputEvents
    setInterceptDrags synthesizePinchGesture synthesizeScrollGesture synthesizeTapGesture`,
  Inspector: 'disable enable',
  LayerTree: `
    compositingReasons disable enable loadSnapshot makeSnapshot profileSnapshot releaseSnapshot replaySnapshot snapshotCommandLog`,
  Log: 'clear disable enable startViolationsReport stopViolationsReport',
  Media: 'disable enable',
  Memory: `
    forciblyPurgeJavaScriptMemory getAllTimeSamplingProfile getBrowserSamplingProfile getDOMCounters getDOMCountersForLeakDetection
    getSamplingProfile prepareForLeakDetection setPressureNotificationsSuppressed simulatePressureNotification startSampling
    stopSampling`,
  Network: `
    canClearBrowserCache canClearBrowserCookies canEmulateNetworkConditions clearBrowserCache clearBrowserCookies
    configureDurableMessages deleteCookies deleteDeviceBoundSession disable emulateNetworkConditions emulateNetworkConditionsByRule
    enable enableDeviceBoundSessions enableReportingApi fetchSchemefulSite getAllCookies getCertificate getCookies getRequestPostData
    getResponseBody getSecurityIsolationStatus overrideNetworkState replayXHR searchInResponseBody setAttachDebugStack setBlockedURLs
    setBypassServiceWorker setCacheDisabled setCookie setCookieControls setCookies setExtraHTTPHeaders setUserAgentOverride
    streamResourceContent`,
  Overlay: `
    disable enable getGridHighlightObjectsForTest getHighlightObjectForTest getSourceOrderHighlightObjectForTest hideHighlight
    highlightFrame highlightNode highlightQuad highlightRect highlightSourceOrder setInspectMode setPausedInDebuggerMessage
    setShowAdHighlights setShowContainerQueryOverlays setShowDebugBorders setShowDisplayCutout setShowFlexOverlays setShowFPSCounter
    setShowGridOverlays setShowHinge setShowHitTestBorders setShowInspectedElementAnchor setShowIsolatedElements
    setShowLayoutShiftRegions setShowPaintRects setShowScrollBottleneckRects setShowScrollSnapOverlays setShowViewportSizeOnResize
    setShowWebVitals setShowWindowControlsOverlay`,
  Page: `
    addCompilationCache addScriptToEvaluateOnLoad addScriptToEvaluateOnNewDocument bringToFront captureScreenshot captureSnapshot
    clearCompilationCache clearDeviceMetricsOverride clearDeviceOrientationOverride clearGeolocationOverride close crash
    createIsolatedWorld deleteCookie disable enable generateTestReport getAdScriptAncestry getAnnotatedPageContent getAppId
    getAppManifest getFrameTree getInstallabilityErrors getLayoutMetrics getManifestIcons getNavigationHistory getOriginTrials
    getPermissionsPolicyState getResourceContent getResourceTree getSiblingSubApps getSpellCheckCustomDictionary getSubApps
    handleJavaScriptDialog navigateToHistoryEntry printToPDF produceCompilationCache reload removeScriptToEvaluateOnLoad
    removeScriptToEvaluateOnNewDocument resetNavigationHistory screencastFrameAck searchInResource setAdBlockingEnabled setBypassCSP
    setDeviceMetricsOverride setDeviceOrientationOverride setDocumentContent setFontFamilies setFontSizes setGeolocationOverride
    setInputVisualization setInterceptFileChooserDialog setLifecycleEventsEnabled setPrerenderingAllowed setRPHRegistrationMode
    setSPCTransactionMode setTouchEmulationEnabled setWebLifecycleState startScreencast stopLoading stopScreencast stopScreenRecording
    waitForDebugger`,
  Performance: 'disable enable getMetrics setTimeDomain',
  PerformanceTimeline: 'enable',
  Preload: 'disable enable',
  Profiler: `
    disable enable getBestEffortCoverage setSamplingInterval start startPreciseCoverage stop stopPreciseCoverage takePreciseCoverage`,
  Runtime: `
    addBinding awaitPromise callFunctionOn compileScript disable discardConsoleEntries enable evaluate getExceptionDetails
    getHeapUsage getIsolateId getProperties globalLexicalScopeNames queryObjects releaseObject releaseObjectGroup removeBinding
    runIfWaitingForDebugger runScript setAsyncCallStackDepth setCustomObjectFormatterEnabled setMaxCallStackSizeToCapture
    terminateExecution`,
  Schema: 'getDomains',
  Security: 'disable enable handleCertificateError setIgnoreCertificateErrors setOverrideCertificateErrors',
  ServiceWorker: `
    deliverPushMessage disable dispatchPeriodicSyncEvent dispatchSyncEvent enable setForceUpdateOnPageLoad skipWaiting startWorker
    stopAllWorkers stopWorker unregister updateRegistration`,
  SmartCardEmulation: `
    disable enable reportBeginTransactionResult reportConnectResult reportDataResult reportError reportEstablishContextResult
    reportGetStatusChangeResult reportListReadersResult reportPlainResult reportReleaseContextResult reportStatusResult`,
  Storage: `
    clearCookies clearDataForOrigin clearDataForStorageKey clearPrivateVerificationTokens clearTrustTokens
    deletePrivateVerificationToken deleteStorageBucket getCookies getPrivateVerificationTokens
    getPrivateVerificationTokensIssuerConfigs getStorageKey getStorageKeyForFrame getTrustTokens getUsageAndQuota
    overrideQuotaForOrigin runBounceTrackingMitigations setCookies setPrivateVerificationTokensTracking setStorageBucketTracking
    trackCacheStorageForOrigin trackCacheStorageForStorageKey trackIndexedDBForOrigin trackIndexedDBForStorageKey
    untrackCacheStorageForOrigin untrackCacheStorageForStorageKey untrackIndexedDBForOrigin untrackIndexedDBForStorageKey`,
  Target: `
    activateTarget attachToBrowserTarget autoAttachRelated closeTarget detachFromTarget disposeBrowserContext getBrowserContexts
    getDevToolsTarget getTargetInfo getTargets setDiscoverTargets`,
  Tracing: 'end getCategories getTrackEventDescriptor recordClockSyncMarker requestMemoryDump',
  WebAudio: 'disable enable getRealtimeData',
  WebAuthn: `
    addCredential addVirtualAuthenticator clearCredentials disable enable getCredential getCredentials removeCredential
    removeVirtualAuthenticator setAutomaticPresenceSimulation setCredentialProperties setResponseOverrideBits setUserVerified`,
  WebMCP: 'cancelInvocation disable enable invokeTool',
};

/** These reach the machine, its devices or its other programs, or would bypass the rules. */
const refused: CommandTable = {
  Browser: 'crash crashGpuProcess executeBrowserCommand getBrowserCommandLine',
  Cast: 'disable enable setSinkToUse startDesktopMirroring startTabMirroring stopCasting',
  Extensions: 'clearStorageItems getExtensions getStorageItems loadUnpacked removeStorageItems setStorageItems triggerAction uninstall',
  PWA: 'changeAppUserSettings getOsAppState install launch launchFilesInApp openCurrentPageInApp uninstall',
  SystemInfo: 'getFeatureState getInfo getProcessInfo',
  Target: 'exposeDevToolsProtocol openDevTools sendMessageToTarget setRemoteLocations',
  Tethering: 'bind unbind',
};

const names = (table: CommandTable): ReadonlySet<string> =>
  new Set(
    Object.entries(table).flatMap(([domain, commands]) =>
      commands
        .trim()
        .split(/\s+/)
        .map((command) => `${domain}.${command}`),
    ),
  );

/** Whoever sends one of these drives the page, and mostly waits for a frame of it. */
export const drivingCommands = names({
  Input: `
    dispatchDragEvent dispatchKeyEvent dispatchMouseEvent dispatchTouchEvent emulateTouchFromMouseEvent imeSetComposition insertText
    synthesizePinchGesture synthesizeScrollGesture synthesizeTapGesture`,
  Page: 'captureScreenshot',
  Runtime: 'callFunctionOn evaluate',
});
export const allowedCommands = names(allowed);
export const refusedCommands = names(refused);
