internal import Console
internal import Policy
internal import TLS

/// Verifies the upstreams of services. Services with the same upstream and trust share one handshake.
struct PinCheck {
  /// The outcome for a service, the worst last.
  enum Outcome: Int, Comparable {
    case skipped, ok, unreachable, invalid, mismatch

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    func word(for terminal: Terminal) -> String {
      let width = "unreachable".count
      return switch self {
      case .skipped: terminal.dim("skipped".padded(to: width))
      case .ok: terminal.good("ok".padded(to: width))
      case .unreachable: terminal.warning("unreachable".padded(to: width))
      case .invalid: terminal.bad("invalid".padded(to: width))
      case .mismatch: terminal.bad("mismatch".padded(to: width))
      }
    }
  }

  private struct Endpoint: Hashable {
    let origin: Origin
    let dialHost: HostName?
    let trust: TrustPolicy
    let serviceProtocol: ServiceProtocol
  }

  private var results: [Endpoint: (outcome: Outcome, detail: String)] = [:]
  private let stores: [TrustPolicy.Files: TrustStore]

  /// - Parameter stores: The authorities and revocation lists of upstreams that do not use the system's.
  init(stores: [TrustPolicy.Files: TrustStore]) { self.stores = stores }

  /// Returns the outcome, and an explanation. Throws `Failure` if the authorities cannot be read.
  mutating func result(of service: Service) throws(Failure) -> (outcome: Outcome, detail: String) {
    let endpoint = Endpoint(
      origin: service.upstream.origin, dialHost: service.upstream.dialHost, trust: service.trust,
      serviceProtocol: service.options.serviceProtocol)
    guard endpoint.origin.scheme == .https else { return (.skipped, "without TLS, there is no certificate") }
    if let known = results[endpoint] { return known }
    let store = try store(for: endpoint.trust)
    let result = Self.result(of: service, store: store)
    results[endpoint] = result
    return result
  }

  private static func result(of service: Service, store: TrustStore) -> (outcome: Outcome, detail: String) {
    let pins = service.trust.pinning.pins.count
    var served: [CertificateDescription] = []
    do {
      let (_, proof) = try VerifiedConnection.verify(
        service.upstream, trust: service.trust, store: store, protocols: service.options.serviceProtocol.offered,
        served: &served)
      switch proof.pins {
      case .none: return (.ok, "chain and name verified. The service has no pins")
      case .matched:
        return (.ok, proof.remark ?? "chain and name verified, and \(pins == 1 ? "the pin" : "a pin") matches")
      case .reported:
        return (.mismatch, "\(proof.remark ?? "no pin matches"). bearerd sends requests (pin_mode: report)")
      }
    } catch let error as SocketError {
      return (.unreachable, error.message)
    } catch let error as TLSError {
      switch error.kind {
      case .pinMismatch: return (.mismatch, error.detail)
      case .certificateInvalid, .certificateExpired, .hostnameMismatch, .pinsExpired, .certificateRevoked,
        .stapleMissing, .revocationUnknown:
        return (.invalid, error.detail)
      case .handshakeFailed, .closed, .noClientCertificate, .internalError: return (.unreachable, error.detail)
      }
    } catch {
      return (.unreachable, "\(error)")
    }
  }

  private func store(for trust: TrustPolicy) throws(Failure) -> TrustStore {
    if let store = stores[trust.files] { return store }
    do throws(TLSError) { return try TrustStore.system() } catch { throw Failure(Failure.system, error.detail) }
  }
}
