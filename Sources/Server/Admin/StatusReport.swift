internal import Audit
internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Primitives
internal import Providers
package import Proxy
internal import Secrets
internal import Settings
internal import Generations
internal import Loading
internal import System

/// The response to `bearerctl status`: one JSON document without secrets. Times are in seconds since 1970.
package struct StatusReport {
  private let worker: Worker
  private let counts: WorkerCounts
  private let now = Clock.now

  package static func bytes(of worker: Worker, _ counts: WorkerCounts) -> [UInt8] {
    StatusReport(worker: worker, counts: counts).document
  }

  private init(worker: Worker, counts: WorkerCounts) {
    self.worker = worker
    self.counts = counts
  }

  private var generation: Generation { worker.providers.generation }

  private var document: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("version", ProgramVersion.text)
      json.member("now", UInt64(max(0, now.seconds)))
      json.member("milliseconds", worker.loop.now)
      json.member("started", worker.lifetime.startedAt)
      json.member("workers", UInt64(worker.sharedState.workers))
      configuration(&json)
      process(&json)
      if let audit = worker.log.audit { self.audit(audit.status, &json) }
      listeners(&json)
      json.array("bounds") { json in for bound in Histogram.bounds { json.member(nil, bound) } }
      json.array("services") { json in
        for (index, service) in generation.snapshot.rules.services.enumerated() {
          json.object {
            self.service(service, counts.services[index].counts, &$0)
            rates(ofService: index, &$0)
          }
        }
      }
      json.array("credentials") { json in
        for index in generation.settings.credentials.indices { json.object { credential(index, &$0) } }
      }
      pools(&json)
      refusals(&json)
    }
    return json.bytes
  }

  private func configuration(_ json: inout JSONWriter) {
    json.object("configuration") { json in
      json.member("file", generation.settings.file)
      json.member("generation", generation.snapshot.generation)
      json.member("loaded", worker.lifetime.loadedAt)
      guard let reload = worker.lifetime.lastReload else { return }
      json.object("last_reload") { json in
        json.member("at", reload.time)
        json.member("problem", reload.problem)
      }
    }
  }

  private func process(_ json: inout JSONWriter) {
    let vitals = ProcessVitals()
    json.object("process") { json in
      json.member("resident_bytes", vitals.residentBytes)
      json.member("open_files", vitals.openDescriptors)
      json.member("most_files", vitals.descriptorLimit)
      json.member("log_lines_dropped", counts.droppedLines)
    }
  }

  private func audit(_ status: AuditWriter.Status, _ json: inout JSONWriter) {
    json.object("audit") { json in
      json.member("file", status.path)
      json.member("device", status.device)
      json.member("inode", status.inode)
      json.member("records", status.count)
      json.member("head", status.head.description)
      json.member("dropped", status.dropped)
      json.member("problem", status.problem)
      json.member("refusing", worker.log.auditProblem)
    }
  }

  private func listeners(_ json: inout JSONWriter) {
    json.member("connections", UInt64(counts.connections.reduce(0, +)))
    json.array("worker_connections") { json in for count in counts.connections { json.member(nil, UInt64(count)) } }
    json.array("loops") { json in
      for loop in counts.loops {
        json.object { json in
          json.member("turns", loop.turns)
          json.member("stalls", loop.stalls)
          json.member("longest_turn_microseconds", loop.longestTurn)
          json.member("oldest_waiting_request_milliseconds", loop.oldestRequest)
        }
      }
    }
    json.array("listeners") { json in
      for bound in worker.acceptor?.listeners ?? [] {
        json.object { json in
          json.member("name", bound.name)
          json.array("addresses") { json in for address in bound.boundAddresses { json.member(nil, address.text) } }
          json.member("accepted", bound.accepted)
        }
      }
    }
  }

  private func service(_ service: Service, _ counts: ServiceCounts, _ json: inout JSONWriter) {
    json.member("name", service.name)
    json.member("at", service.mountPoint)
    json.member("listener", generation.settings.listeners[service.listener].name)
    json.member("upstream", service.upstream.origin.description)
    json.member("pins", UInt64(service.trust.pinning.pins.count))
    json.member("pin_mode", "\(service.trust.pinning.mode)")
    json.member("requests", counts.requests)
    json.member("refusals", counts.refusals)
    json.member("retries", counts.retries)
    json.member("last_status", counts.lastStatus == 0 ? nil : UInt64(counts.lastStatus))
    json.member("last_success", time(counts.lastSuccess))
    json.member("last_failure", time(counts.lastFailure))
    json.array("response_head") { json in for count in counts.responseHead.counts { json.member(nil, count) } }
  }

  private func rates(ofService index: Int, _ json: inout JSONWriter) {
    json.array("rates") { json in
      for entry in generation.limits.rates.all where entry.service == index {
        json.object { json in
          json.member("rate", entry.limiter.rate.description)
          json.member("rule", entry.rule.map { UInt64($0 + 1) })
          json.array("callers") { json in
            for usage in generation.limits.lock({ entry.limiter.usages(at: worker.loop.now) }) {
              json.object { json in
                json.member("uid", usage.caller.uid.map { UInt64($0) })
                json.member("client", usage.caller.client)
                json.member("left", usage.left)
                json.member("milliseconds", usage.wait)
              }
            }
          }
        }
      }
    }
  }

  private func credential(_ index: Int, _ json: inout JSONWriter) {
    let tally = counts.credentials[index]
    let status = generation.keyring.status(ofGrant: index)
    json.member("name", tally.name)
    json.member("kind", generation.settings.credentials[index].kind)
    json.member("available", tally.isAvailable)
    json.member("logged_out", isLoggedOut(index))
    json.member("problem", tally.problem)
    json.member("generation", status.secretVersion)
    let changed = generation.keyring.changedAt(ofGrant: index)
    json.member("changed", changed == 0 ? nil : changed)
    json.member("age", changed == 0 ? nil : now.seconds - changed)
    json.member("expires", expiry(index))
    json.member("fingerprint", generation.keyring.fingerprint(ofGrant: index))
    json.array("sources") { json in
      for source in generation.settings.credentials[index].allSources { json.object { self.source(source, &$0) } }
    }
    if let cookies = worker.sharedState.jars.count(of: tally.name) { json.member("cookies", UInt64(cookies)) }
    worker.providers.tokens?.status(ofGrant: index)?.write(to: &json)
    json.member("accepted", tally.accepted.count)
    json.member("rejected", tally.rejected.count)
    json.member("last_accepted", time(tally.accepted.last))
    json.member("last_rejected", time(tally.rejected.last))
    json.array("suspended") { json in
      for breaker in generation.limits.breakers
      where breaker.credential == tally.name
        && breaker.isSuspended(breaker.value(in: generation.keyring, ofGrant: index))
      {
        json.object { json in
          json.member("upstream", breaker.origin.description)
          json.member("rejections", UInt64(breaker.state.rejections))
          json.member("seconds", (breaker.wait(at: worker.loop.now) ?? 0) / 1_000)
        }
      }
    }
  }

  private func isLoggedOut(_ index: Int) -> Bool {
    generation.keyring.isLoggedOut(grant: index) || worker.providers.tokens?.status(ofGrant: index)?.loggedOut != nil
  }

  /// Returns when the credential's value expires, in seconds since 1970. `nil` if unknown.
  private func expiry(_ index: Int) -> Int64? {
    if let status = worker.providers.tokens?.status(ofGrant: index) {
      return status.secondsLeft.map { now.seconds + Int64(clamping: $0) }
    }
    let commands = generation.settings.credentials[index].sources.compactMap(\.command)
    return commands.compactMap { generation.keyring.commandOutputs.expiry(of: $0) }.min()
  }

  private func source(_ source: SecretSource, _ json: inout JSONWriter) {
    json.member("source", source.summary)
    if let command = source.command {
      json.member("expires", generation.keyring.commandOutputs.expiry(of: command))
    }
    if case .file = source {
      json.member("modified", generation.keyring.fileContents.modified(source))
    }
  }

  private func pools(_ json: inout JSONWriter) {
    json.array("pools") { json in
      for pool in counts.pools {
        json.object { json in
          json.member("upstream", pool.upstream)
          json.member("credential", pool.credential)
          json.member("idle", UInt64(pool.idle))
          json.member("active", UInt64(pool.active))
        }
      }
    }
  }

  private func refusals(_ json: inout JSONWriter) {
    json.member("unplaced", counts.unplaced.requests)
    json.array("recent_refusals") { json in
      for entry in counts.recent {
        json.object { json in
          json.member("at", time(entry.time))
          json.member("code", entry.code.row.code.description)
          json.member("service", entry.service.isEmpty ? nil : entry.service)
        }
      }
    }
  }

  /// Converts a time of the event loop's clock to seconds since 1970.
  private func time(_ milliseconds: UInt64?) -> Int64? {
    milliseconds.map { now.seconds - Int64((worker.loop.now &- $0) / 1_000) }
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: String, _ time: Int64?) { member(name, time.map { UInt64(max(0, $0)) }) }
}
