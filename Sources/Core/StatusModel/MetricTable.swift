internal import Gateway
internal import Primitives

extension Metric {
  /// All metrics, in the order of the text and of the reference.
  package static let all: [Metric] = [
    Metric(
      "bearerd_requests_total", .counter, "service rule status",
      "Finished requests, by number of the rule that decided and class of the response status."
    ) { metrics, text in
      for service in metrics.allServices {
        for row in 0...service.rules {
          let rule = row == 0 ? "none" : String(row)
          for (index, status) in statusClasses.enumerated() {
            text.sample([service.name, rule, status], service.counts.requests(row: row, statusClass: index))
          }
        }
      }
    },
    Metric(
      "bearerd_refusals_total", .counter, "service code",
      "Error responses that bearerd generated itself, by error code."
    ) { metrics, text in
      for service in metrics.allServices {
        for code in RefusalCode.allCases {
          let count = service.counts.refusals(code)
          guard count > 0 || code.isAlwaysShown(withService: !service.name.isEmpty) else { continue }
          text.sample([service.name, code.row.code.description], count)
        }
      }
    },
    Metric(
      "bearerd_requests_by_http_version_total", .counter, "service http upstream_http",
      """
      Finished requests, by HTTP version of the caller and of the upstream: 1.1 or 2. HTTP/1.0 counts as 1.1. \
      `upstream_http` is none if bearerd did not send the request to the upstream.
      """
    ) { metrics, text in
      for service in metrics.services {
        func sample(_ versions: String..., counter: ServiceCounter) {
          text.sample([service.name] + versions, service.counts[counter])
        }
        sample("1.1", "none", counter: .http1Local)
        sample("1.1", "1.1", counter: .http1OverHTTP1)
        sample("1.1", "2", counter: .http1OverHTTP2)
        sample("2", "none", counter: .http2Local)
        sample("2", "1.1", counter: .http2OverHTTP1)
        sample("2", "2", counter: .http2OverHTTP2)
      }
    },
    ofServices("bearerd_request_body_bytes_total", .bytesUp, "Bytes of request bodies sent to the upstream."),
    ofServices("bearerd_response_body_bytes_total", .bytesDown, "Bytes of response bodies sent to callers."),
    ofServices(
      "bearerd_retries_total", .retries,
      """
      Requests that were sent again on a new connection, because the connection of an earlier request was closed, or \
      because an HTTP/2 upstream did not process the request.
      """),
    ofServices(
      "bearerd_upstream_retries_total", .upstreamRetries,
      "Additional attempts of requests after upstream failures, by `retry` of the service."),
    ofServices(
      "bearerd_redactions_total", .redactions, "Places in responses where the credential was found and masked."),
    times(
      "bearerd_upstream_connect_seconds",
      "Time to open a TCP connection to the upstream, in seconds. The name lookup does not count."
    ) { $0.connect },
    times(
      "bearerd_upstream_handshake_seconds",
      "Time of a TLS handshake with the upstream, including verification, in seconds."
    ) { $0.handshake },
    times(
      "bearerd_upstream_response_head_seconds",
      "Time from the head of a request to the head of its response, in seconds."
    ) { $0.responseHead },
    Metric(
      "bearerd_upstream_handshakes_total", .counter, "service type",
      "Successful TLS handshakes with verified upstreams, by type: full or resumed."
    ) { metrics, text in
      for service in metrics.services {
        text.sample([service.name, "full"], service.counts[.fullHandshakes])
        text.sample([service.name, "resumed"], service.counts[.resumedHandshakes])
      }
    },
    Metric(
      "bearerd_upstream_connections_opened_total", .counter, "service http",
      "Connections that were opened to upstreams, by HTTP version."
    ) { metrics, text in
      for service in metrics.services {
        text.sample([service.name, "1.1"], service.counts[.connectionsHTTP1])
        text.sample([service.name, "2"], service.counts[.connectionsHTTP2])
      }
    },
    Metric(
      "bearerd_upstream_streams_refused_total", .counter, "service reason",
      """
      HTTP/2 requests that the upstream did not process, by reason: refused (REFUSED_STREAM, or GOAWAY), or \
      http-1-1-required. They count for the service whose request opened the connection.
      """
    ) { metrics, text in
      for service in metrics.services {
        text.sample([service.name, "refused"], service.counts[.streamsRefused])
        text.sample([service.name, "http-1-1-required"], service.counts[.streamsRequiringHTTP1])
      }
    },
    ofServices(
      "bearerd_upstream_goaways_total", .goAways,
      """
      GOAWAY frames, with which upstreams end HTTP/2 connections. They count for the service whose request opened the \
      connection.
      """),
    Metric(
      "bearerd_pin_results_total", .counter, "service result",
      "Connections to services with pins, by result: matched, mismatched, or reported in report mode."
    ) { metrics, text in
      for (status, service) in zip(metrics.status.services, metrics.services) where status.pins > 0 {
        text.sample([service.name, "matched"], service.counts[.pinsMatched])
        text.sample([service.name, "mismatched"], service.counts[.pinsMismatched])
        text.sample([service.name, "reported"], service.counts[.pinsReported])
      }
    },
    Metric(
      "bearerd_probe_success", .gauge, "service", "1 if the last probe of the upstream succeeded, otherwise 0."
    ) { metrics, text in
      for service in metrics.status.services {
        if let probe = service.probe { text.sample([service.name], probe.failure == nil ? 1 : 0) }
      }
    },
    Metric(
      "bearerd_pin_matched", .gauge, "service pin",
      "Always 1. The label has the pin that matched in the last TLS handshake with the upstream."
    ) { metrics, text in
      for service in metrics.status.services {
        if let pin = service.matchedPin { text.sample([service.name, pin], 1) }
      }
    },
    Metric(
      "bearerd_reports_total", .counter, "result",
      """
      Failed verifications of upstreams, by result of their report: sent, failed, or suppressed (already reported, too \
      many, or about the report server itself).
      """, isShown: { $0.status.reports != nil }
    ) { metrics, text in
      guard let reports = metrics.status.reports else { return }
      text.sample(["sent"], reports.sent)
      text.sample(["failed"], reports.failed)
      text.sample(["suppressed"], reports.suppressed)
    },
    Metric(
      "bearerd_expiry_timestamp_seconds", .gauge, "what name",
      """
      When something expires, in seconds since 1970: pins, upstream-certificate (after the first TLS handshake), \
      client-certificate, or ca-file (its first certificate to expire).
      """
    ) { metrics, text in
      for expiry in metrics.status.expiries {
        text.sample([expiry.what.rawValue, expiry.name], UInt64(clamping: expiry.at))
      }
    },
    Metric(
      "bearerd_upstream_connections", .gauge, "upstream credential http state",
      "Open connections to upstreams, by HTTP version (1.1 or 2) and state: idle or active."
    ) { metrics, text in
      for pool in metrics.status.pools {
        text.sample([pool.upstream, pool.credential, pool.httpVersion, "idle"], UInt64(clamping: pool.idle))
        text.sample([pool.upstream, pool.credential, pool.httpVersion, "active"], UInt64(clamping: pool.active))
      }
    },
    Metric(
      "bearerd_upstream_streams", .gauge, "upstream credential",
      "Requests in progress on HTTP/2 connections to upstreams."
    ) { metrics, text in
      for pool in metrics.status.pools {
        if let streams = pool.streams { text.sample([pool.upstream, pool.credential], UInt64(clamping: streams)) }
      }
    },
    single("bearerd_client_connections", .gauge, "Open connections from programs.") { UInt64($0.status.connections) },
    Metric(
      "bearerd_client_connections_total", .counter, "listener", "Connections that listeners accepted from programs."
    ) { metrics, text in
      for listener in metrics.status.listeners { text.sample([listener.name], listener.accepted) }
    },
    ofCredentials(
      "bearerd_credential_available", .gauge,
      "1 if the credential has a value that bearerd can send, otherwise 0."
    ) { $0.available ? 1 : 0 },
    ofCredentials(
      "bearerd_credential_generation", .gauge,
      "Number of values that the credential has had since bearerd started."
    ) { $0.generation },
    ofCredentials(
      "bearerd_credential_changed_timestamp_seconds", .gauge,
      "Time when the credential's value last changed, or was first read, in seconds since 1970."
    ) { $0.changed.map { UInt64(clamping: $0) } },
    ofCredentials(
      "bearerd_credential_accepted_total", .counter,
      "Responses to requests with the credential whose status was not 401 or 407."
    ) { $0.accepted },
    ofCredentials(
      "bearerd_credential_rejected_total", .counter,
      "Responses with status 401 or 407 to requests with the credential."
    ) { $0.rejected },
    Metric(
      "bearerd_token_requests_total", .counter, "credential result",
      "Finished requests to the token endpoint, by result: granted or failed.", isShown: hasTokens
    ) { metrics, text in
      for credential in metrics.status.credentials {
        guard let token = credential.token else { continue }
        text.sample([credential.name, "granted"], token.granted)
        text.sample([credential.name, "failed"], token.failed)
      }
    },
    ofCredentials(
      "bearerd_token_usable_seconds", .gauge, "Seconds until bearerd stops using the current token.", isShown: hasTokens
    ) { $0.token?.secondsLeft.map { UInt64(clamping: $0) } },
    ofCredentials(
      "bearerd_login_required", .gauge, "1 if a person has to log in again, otherwise 0.", isShown: hasTokens
    ) { $0.token.map { $0.loginRequired ? 1 : 0 } },
    Metric(
      "bearerd_credential_suspended", .gauge, "credential upstream",
      "1 while bearerd does not send the credential to this upstream, because the upstream kept rejecting it."
    ) { metrics, text in
      for breaker in metrics.breakers {
        text.sample([breaker.credential, breaker.upstream], breaker.isSuspended ? 1 : 0)
      }
    },
    Metric(
      "bearerd_credential_suspensions_total", .counter, "credential upstream",
      "How many times the credential was suspended for this upstream."
    ) { metrics, text in
      for breaker in metrics.breakers { text.sample([breaker.credential, breaker.upstream], breaker.suspensions) }
    },
    Metric("bearerd_build_info", .gauge, "version", "Always 1. The label has the version of bearerd.") {
      metrics, text in text.sample([metrics.status.version], 1)
    },
    single(
      "bearerd_configuration_generation", .gauge,
      "How many times a configuration was loaded since bearerd started."
    ) { $0.status.configuration.generation },
    single(
      "bearerd_configuration_loaded_timestamp_seconds", .gauge,
      "Time when the configuration in use was loaded, in seconds since 1970."
    ) { UInt64(clamping: $0.status.configuration.loaded) },
    single(
      "bearerd_configuration_last_reload_successful", .gauge,
      "1 if the last reload succeeded or there was no reload yet, otherwise 0."
    ) { $0.status.configuration.lastReload?.problem == nil ? 1 : 0 },
    single(
      "bearerd_log_lines_dropped_total", .counter,
      "Log lines that were dropped because the program that reads the log was too slow."
    ) { $0.status.process.logLinesDropped },
    single("bearerd_audit_records", .gauge, "Number of the last record in the audit file.") {
      $0.status.audit?.records
    },
    single(
      "bearerd_audit_records_dropped_total", .counter,
      "Audit records that were dropped because bearerd could not write them in time."
    ) { $0.status.audit?.dropped },
    single("bearerd_audit_working", .gauge, "1 if the last write to the audit file succeeded, otherwise 0.") {
      $0.status.audit.map { $0.problem == nil ? 1 : 0 }
    },
    single("bearerd_loop_turns_total", .counter, "Turns of the event loops.") {
      $0.status.loops.reduce(0) { $0 &+ $1.turns }
    },
    single("bearerd_loop_stalls_total", .counter, "Turns of the event loops that took 100 milliseconds or more.") {
      $0.status.loops.reduce(0) { $0 &+ $1.stalls }
    },
    Metric(
      "bearerd_loop_longest_turn_seconds", .gauge, "",
      "Longest turn of an event loop since bearerd started, in seconds."
    ) { metrics, text in text.sample(microseconds: metrics.status.loops.map(\.longestTurnMicroseconds).max() ?? 0) },
    Metric(
      "bearerd_oldest_waiting_request_seconds", .gauge, "",
      "Seconds since the oldest request began to wait for the head of its response."
    ) { metrics, text in
      text.sample(
        microseconds: (metrics.status.loops.compactMap(\.oldestWaitingRequestMilliseconds).max() ?? 0) &* 1_000)
    },
    single("process_resident_memory_bytes", .gauge, "Resident memory of the process, in bytes.") {
      $0.status.process.residentBytes
    },
    single("process_open_fds", .gauge, "Number of open file descriptors.") { $0.status.process.openFiles },
    single("process_max_fds", .gauge, "Maximum number of open file descriptors.") { $0.status.process.mostFiles },
    Metric(
      "process_cpu_seconds_total", .counter, "", "CPU time of the process in user and system mode, in seconds."
    ) { metrics, text in text.sample(microseconds: metrics.processorMicroseconds) },
    single("process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.") {
      UInt64(clamping: $0.status.started)
    },
  ]

  private static let statusClasses = (1...ServiceCounts.statusClasses).map { "\($0)xx" }

  @Sendable private static func hasTokens(_ metrics: DaemonMetrics) -> Bool {
    metrics.status.credentials.contains { $0.token != nil }
  }
}

extension DaemonMetrics {
  fileprivate var allServices: [Service] { services + [("", 0, unplaced)] }
}

extension RefusalCode {
  /// Whether to report the number of refusals even if it is 0.
  /// - Parameter withService: `false` for requests that belong to no service.
  fileprivate func isAlwaysShown(withService: Bool) -> Bool {
    switch refuser {
    case .parser, .admission: !withService
    case .rules, .bearerd: true
    case .keyring, .connector, .upstream: withService
    }
  }
}
