package import Primitives

/// A metric of bearerd. Each metric has a case here and a row below.
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
  private var row: (kind: Exposition.Kind, labels: StaticString, help: StaticString) {
    switch self {
    case .requests:
      (
        .counter, "service rule status",
        "Finished requests, by number of the rule that decided and class of the response status."
      )
    case .refusals: (.counter, "service code", "Error responses that bearerd generated itself, by error code.")
    case .requestBodyBytes: (.counter, "service", "Bytes of request bodies sent to the upstream.")
    case .responseBodyBytes: (.counter, "service", "Bytes of response bodies sent to callers.")
    case .retries:
      (
        .counter, "service",
        """
        Requests that were sent again on a new connection, because the connection kept from an earlier request was \
        closed.
        """
      )
    case .redactions: (.counter, "service", "Places in responses where the credential was found and masked.")
    case .connectSeconds:
      (
        .histogram, "service",
        "Time to open a TCP connection to the upstream, in seconds. The name lookup does not count."
      )
    case .handshakeSeconds:
      (.histogram, "service", "Time of a TLS handshake with the upstream, including verification, in seconds.")
    case .responseHeadSeconds:
      (.histogram, "service", "Time from the head of a request to the head of its response, in seconds.")
    case .handshakes:
      (.counter, "service type", "Successful TLS handshakes with verified upstreams, by type: full or resumed.")
    case .pinResults:
      (
        .counter, "service result",
        "Connections to services with pins, by result: matched, mismatched, or reported in report mode."
      )
    case .upstreamConnections:
      (.gauge, "upstream credential state", "Open connections to upstreams, by state: idle or active.")
    case .clientConnections: (.gauge, "", "Open connections from programs.")
    case .acceptedConnections: (.counter, "listener", "Connections that listeners accepted from programs.")
    case .credentialAvailable:
      (.gauge, "credential", "1 if the credential has a value that bearerd can send, otherwise 0.")
    case .credentialGeneration:
      (.gauge, "credential", "Number of values that the credential has had since bearerd started.")
    case .credentialChanged:
      (.gauge, "credential", "Time when the credential's value last changed, or was first read, in seconds since 1970.")
    case .credentialAccepted:
      (.counter, "credential", "Responses to requests with the credential whose status was not 401 or 407.")
    case .credentialRejected:
      (.counter, "credential", "Responses with status 401 or 407 to requests with the credential.")
    case .tokenRequests:
      (.counter, "credential result", "Finished requests to the token endpoint, by result: granted or failed.")
    case .tokenUsable: (.gauge, "credential", "Seconds until bearerd stops using the current token.")
    case .loginRequired: (.gauge, "credential", "1 if a person has to log in again, otherwise 0.")
    case .credentialSuspended:
      (
        .gauge, "credential upstream",
        "1 while bearerd does not send the credential to this upstream, because the upstream kept rejecting it."
      )
    case .suspensions:
      (.counter, "credential upstream", "How many times the credential was suspended for this upstream.")
    case .buildInfo: (.gauge, "version", "Always 1. The label has the version of bearerd.")
    case .configurationGeneration: (.gauge, "", "How many times a configuration was loaded since bearerd started.")
    case .configurationLoaded: (.gauge, "", "Time when the configuration in use was loaded, in seconds since 1970.")
    case .lastReloadSuccessful: (.gauge, "", "1 if the last reload succeeded or there was no reload yet, otherwise 0.")
    case .logLinesDropped:
      (.counter, "", "Log lines that were dropped because the program that reads the log was too slow.")
    case .auditRecords: (.gauge, "", "Number of the last record in the audit file.")
    case .auditRecordsDropped:
      (.counter, "", "Audit records that were dropped because bearerd could not write them in time.")
    case .auditWorking: (.gauge, "", "1 if the last write to the audit file succeeded, otherwise 0.")
    case .loopTurns: (.counter, "", "Turns of the event loops.")
    case .loopStalls: (.counter, "", "Turns of the event loops that took 100 milliseconds or more.")
    case .longestTurn: (.gauge, "", "Longest turn of an event loop since bearerd started, in seconds.")
    case .oldestWaiting:
      (.gauge, "", "Seconds since the oldest request began to wait for the head of its response.")
    case .residentMemory: (.gauge, "", "Resident memory of the process, in bytes.")
    case .openDescriptors: (.gauge, "", "Number of open file descriptors.")
    case .maxDescriptors: (.gauge, "", "Maximum number of open file descriptors.")
    case .cpuSeconds: (.counter, "", "CPU time of the process in user and system mode, in seconds.")
    case .startTime: (.gauge, "", "Start time of the process, in seconds since 1970.")
    }
  }

  package var kind: Exposition.Kind { row.kind }

  package var labels: [String] { row.labels.description.split(separator: " ").map(String.init) }

  package var help: StaticString { row.help }
}
