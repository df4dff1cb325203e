@testable import StatusModel

/// Fills every property of a status with a value that no other property has.
struct FullStatus {
  private var last = 10_000

  private mutating func number() -> Int {
    last += 1
    return last
  }

  private mutating func count() -> UInt64 { UInt64(number()) }
  private mutating func text() -> String { "text-\(number())" }

  static func make() -> DaemonStatus {
    var values = FullStatus()
    return values.status()
  }

  private mutating func status() -> DaemonStatus {
    var status = DaemonStatus()
    status.version = text()
    status.now = number()
    status.milliseconds = count()
    status.started = number()
    status.workers = number()
    status.configuration.file = text()
    status.configuration.generation = count()
    status.configuration.loaded = number()
    status.configuration.lastReload = DaemonStatus.Reload(at: number(), problem: text())
    status.process.residentBytes = count()
    status.process.openFiles = count()
    status.process.mostFiles = count()
    status.process.logLinesDropped = count()
    status.audit = audit()
    status.connections = number()
    status.workerConnections = [count(), count()]
    status.loops = [loop()]
    var listener = DaemonStatus.Listener()
    listener.name = text()
    listener.addresses = [text(), text()]
    listener.accepted = count()
    status.listeners = [listener]
    status.bounds = [count(), count()]
    status.services = [service(), service()]
    status.credentials = [credential()]
    status.pools = [
      DaemonStatus.Pool(
        upstream: text(), credential: text(), httpVersion: text(), idle: number(), active: number(), streams: number())
    ]
    status.expiries = [DaemonStatus.Expiry(.clientCertificate, text(), from: Int64(number()), at: Int64(number()))]
    status.unplaced = count()
    status.recentRefusals = [DaemonStatus.Refused(at: number(), code: text(), service: text())]
    var reports = DaemonStatus.Reports()
    (reports.sent, reports.failed, reports.suppressed) = (count(), count(), count())
    status.reports = reports
    return status
  }

  private mutating func audit() -> DaemonStatus.Audit {
    var audit = DaemonStatus.Audit()
    audit.file = text()
    audit.device = count()
    audit.inode = count()
    audit.records = count()
    audit.head = text()
    audit.dropped = count()
    audit.problem = text()
    audit.refusing = text()
    return audit
  }

  private mutating func loop() -> DaemonStatus.Loop {
    var loop = DaemonStatus.Loop()
    loop.turns = count()
    loop.stalls = count()
    loop.longestTurnMicroseconds = count()
    loop.oldestWaitingRequestMilliseconds = count()
    return loop
  }

  private mutating func service() -> DaemonStatus.Service {
    var service = DaemonStatus.Service()
    service.name = text()
    service.at = text()
    service.listener = text()
    service.upstream = text()
    service.httpVersion = text()
    service.httpCause = text()
    service.pins = number()
    service.pinMode = text()
    service.requests = count()
    service.refusals = count()
    service.retries = count()
    service.lastStatus = number()
    service.lastSuccess = number()
    service.lastFailure = number()
    service.responseHead = [count(), count()]
    var rate = DaemonStatus.Rate()
    rate.rate = text()
    rate.rule = number()
    var caller = DaemonStatus.Caller()
    caller.uid = number()
    caller.client = text()
    caller.left = count()
    caller.milliseconds = count()
    rate.callers = [caller]
    service.rates = [rate]
    service.matchedPin = text()
    service.certificateExpires = number()
    service.probe = DaemonStatus.Probe(at: number(), failure: text())
    return service
  }

  private mutating func credential() -> DaemonStatus.Credential {
    var credential = DaemonStatus.Credential()
    credential.name = text()
    credential.kind = text()
    credential.available = true
    credential.loggedOut = true
    credential.problem = text()
    credential.generation = count()
    credential.changed = number()
    credential.age = number()
    credential.expires = number()
    credential.fingerprint = text()
    var source = DaemonStatus.Source()
    source.source = text()
    source.expires = number()
    source.modified = number()
    credential.sources = [source]
    credential.cookies = number()
    credential.token = token()
    credential.accepted = count()
    credential.rejected = count()
    credential.lastAccepted = number()
    credential.lastRejected = number()
    var suspension = DaemonStatus.Suspension()
    suspension.upstream = text()
    suspension.rejections = number()
    suspension.seconds = number()
    credential.suspended = [suspension]
    return credential
  }

  private mutating func token() -> DaemonStatus.Token {
    var token = DaemonStatus.Token()
    token.secondsLeft = number()
    token.renewing = true
    token.atNextRequest = true
    token.loginRequired = true
    token.asked = count()
    token.granted = count()
    token.failed = count()
    token.failuresInARow = number()
    token.nextAttemptIn = number()
    token.lastGranted = number()
    token.lastFailed = number()
    token.lastFailure = text()
    return token
  }
}
