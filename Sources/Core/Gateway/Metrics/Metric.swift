package import Primitives

/// A metric of the scrape. Each one is a case here and its row below: the exposition and the reference page are made from the row.
package enum Metric: String, CaseIterable, Sendable {
  case requests = "bearerd_requests_total"
  case refusals = "bearerd_refusals_total"
  case requestBodyBytes = "bearerd_request_body_bytes_total"
  case responseBodyBytes = "bearerd_response_body_bytes_total"
  case retries = "bearerd_retries_total"
  case redactions = "bearerd_redactions_total"
  case connectSeconds = "bearerd_upstream_connect_seconds"
  case handshakeSeconds = "bearerd_upstream_handshake_seconds"
  case responseHeadSeconds = "bearerd_upstream_response_head_seconds"
  case handshakes = "bearerd_upstream_handshakes_total"
  case pinResults = "bearerd_pin_results_total"
  case upstreamConnections = "bearerd_upstream_connections"
  case clientConnections = "bearerd_client_connections"
  case acceptedConnections = "bearerd_client_connections_total"
  case credentialAvailable = "bearerd_credential_available"
  case credentialGeneration = "bearerd_credential_generation"
  case credentialChanged = "bearerd_credential_changed_timestamp_seconds"
  case credentialAccepted = "bearerd_credential_accepted_total"
  case credentialRejected = "bearerd_credential_rejected_total"
  case tokenRequests = "bearerd_token_requests_total"
  case tokenUsable = "bearerd_token_usable_seconds"
  case loginRequired = "bearerd_login_required"
  case credentialSuspended = "bearerd_credential_suspended"
  case suspensions = "bearerd_credential_suspensions_total"
  case buildInfo = "bearerd_build_info"
  case configurationGeneration = "bearerd_configuration_generation"
  case configurationLoaded = "bearerd_configuration_loaded_timestamp_seconds"
  case lastReloadSuccessful = "bearerd_configuration_last_reload_successful"
  case logLinesDropped = "bearerd_log_lines_dropped_total"
  case auditRecords = "bearerd_audit_records"
  case auditRecordsDropped = "bearerd_audit_records_dropped_total"
  case auditWorking = "bearerd_audit_working"
  case loopTurns = "bearerd_loop_turns_total"
  case loopStalls = "bearerd_loop_stalls_total"
  case longestTurn = "bearerd_loop_longest_turn_seconds"
  case oldestWaiting = "bearerd_oldest_waiting_request_seconds"
  case residentMemory = "process_resident_memory_bytes"
  case openDescriptors = "process_open_fds"
  case maxDescriptors = "process_max_fds"
  case cpuSeconds = "process_cpu_seconds_total"
  case startTime = "process_start_time_seconds"
}

extension Metric {
  /// Kind, names of the labels with blanks between them, and the meaning.
  private var row: (kind: Exposition.Kind, labels: StaticString, help: StaticString) {
    switch self {
    case .requests:
      (
        .counter, "service rule status",
        "Requests that ended, by number of the rule that decided and the class of the status."
      )
    case .refusals: (.counter, "service code", "Error responses that bearerd generated itself, by their code.")
    case .requestBodyBytes: (.counter, "service", "Bytes of request bodies sent to the upstream.")
    case .responseBodyBytes: (.counter, "service", "Bytes of response bodies sent to callers.")
    case .retries:
      (
        .counter, "service",
        "Requests that were sent again on a new connection, because the kept connection was closed."
      )
    case .redactions: (.counter, "service", "Places in responses where the credential was found and masked.")
    case .connectSeconds:
      (.histogram, "service", "Time to open a TCP connection to the upstream, without the name lookup.")
    case .handshakeSeconds:
      (.histogram, "service", "Time of a TLS handshake with the upstream, including verification.")
    case .responseHeadSeconds: (.histogram, "service", "Time from the head of a request to the head of its response.")
    case .handshakes: (.counter, "service type", "TLS handshakes that succeeded and were verified: full or resumed.")
    case .pinResults:
      (
        .counter, "service result",
        "Connections to services with pins, by result: matched, mismatched, or reported in report mode."
      )
    case .upstreamConnections: (.gauge, "upstream credential state", "Open connections to upstreams: idle or active.")
    case .clientConnections: (.gauge, "", "Open connections from callers.")
    case .acceptedConnections: (.counter, "listener", "Connections accepted from callers.")
    case .credentialAvailable: (.gauge, "credential", "1 if the credential has a value to send.")
    case .credentialGeneration: (.gauge, "credential", "Number of values that the credential has had since the start.")
    case .credentialChanged:
      (.gauge, "credential", "Time of the credential's last change or first read, in seconds since 1970.")
    case .credentialAccepted:
      (.counter, "credential", "Responses to requests with the credential, except 401 and 407.")
    case .credentialRejected:
      (.counter, "credential", "Responses with status 401 or 407 to requests with the credential.")
    case .tokenRequests:
      (.counter, "credential result", "Requests to the token endpoint that ended: granted or failed.")
    case .tokenUsable: (.gauge, "credential", "Seconds until the current token is no longer used.")
    case .loginRequired: (.gauge, "credential", "1 if a person has to log in again.")
    case .credentialSuspended:
      (.gauge, "credential upstream", "1 if the credential is suspended for this upstream, which keeps rejecting it.")
    case .suspensions: (.counter, "credential upstream", "Times that the credential was suspended for this upstream.")
    case .buildInfo: (.gauge, "version", "1, with the version that runs.")
    case .configurationGeneration: (.gauge, "", "Number of configurations loaded since the start.")
    case .configurationLoaded: (.gauge, "", "Time when the configuration in use was loaded, in seconds since 1970.")
    case .lastReloadSuccessful: (.gauge, "", "1 if the last reload succeeded, or if there was none.")
    case .logLinesDropped: (.counter, "", "Log lines that were dropped because the reader of the log was too slow.")
    case .auditRecords: (.gauge, "", "Number of the last record in the audit file.")
    case .auditRecordsDropped:
      (.counter, "", "Audit records that were dropped because the file could not be written in time.")
    case .auditWorking: (.gauge, "", "1 if the last write to the audit file succeeded.")
    case .loopTurns: (.counter, "", "Turns of the event loops.")
    case .loopStalls: (.counter, "", "Turns of the event loops that took 100 milliseconds or more.")
    case .longestTurn: (.gauge, "", "Longest turn of an event loop since the start.")
    case .oldestWaiting: (.gauge, "", "Time that the oldest waiting request has waited for the head of its response.")
    case .residentMemory: (.gauge, "", "Resident memory.")
    case .openDescriptors: (.gauge, "", "Open file descriptors.")
    case .maxDescriptors: (.gauge, "", "Maximum number of open file descriptors.")
    case .cpuSeconds: (.counter, "", "CPU time of the process, user and system.")
    case .startTime: (.gauge, "", "Start time of the process, in seconds since 1970.")
    }
  }

  package var kind: Exposition.Kind { row.kind }

  package var labels: [String] { row.labels.description.split(separator: " ").map(String.init) }

  package var help: StaticString { row.help }
}
