internal import Console
internal import OAuth
internal import Policy
internal import Primitives
internal import Secrets
internal import System
internal import TLS

/// Finds the metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
struct Discovery {
  private let issuer: Issuer
  private let store: TrustStore
  private let hasOwnAuthorities: Bool
  private let arena = SecretArena()

  /// Maximum size of a file with certificate authorities, in bytes.
  private static let maximumFileSize = 4 << 20

  /// - Parameter authorities: A PEM file with certificate authorities; `nil` for the system's.
  init(_ text: String, authorities: String?) throws {
    do throws(PolicySyntaxError) { issuer = try Issuer(parsing: text) } catch {
      let hint = text.contains("://") ? "" : ". Write https://\(text.harmless)"
      throw Failure(Failure.usage, "the issuer is not valid: \(error.message.harmless)\(hint)")
    }
    hasOwnAuthorities = authorities != nil
    guard let authorities else {
      store = try TrustStore.system()
      return
    }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try FileReader.read(path: authorities, maximum: Self.maximumFileSize).bytes
    } catch {
      throw Failure(Failure.noInput, "\(authorities.harmless): \(error)")
    }
    do throws(TLSError) { store = try TrustStore(pem: bytes, name: authorities) } catch {
      throw Failure(Failure.usage, error.detail)
    }
  }

  var host: String { issuer.origin.host.description }

  /// Returns the metadata, and the URL at which it was found.
  func metadata() throws -> (metadata: ServerMetadata, location: Endpoint) {
    var problems: [String] = []
    var otherIssuer: String?
    for location in issuer.locations {
      let receiver = try response(to: try TokenRequest.metadata(at: location, in: arena))
      let result = receiver.withResponse { head, body -> Result<ServerMetadata, Reason> in
        guard head.status == 200 else { return .failure(Reason(Self.reason(head))) }
        do throws(ServerMetadata.Problem) {
          return .success(try ServerMetadata(body, of: issuer))
        } catch {
          switch error {
          case .notJSON: return .failure(Reason("the response is not a JSON object"))
          case .otherIssuer(let other?):
            return .failure(Reason("the document is for the issuer \(other)", issuer: other))
          case .otherIssuer: return .failure(Reason("the document has no valid issuer"))
          }
        }
      }
      switch result {
      case .success(let metadata): return (metadata, location)
      case .failure(let reason):
        problems.append("  \(location)\n    \(reason.text)\n")
        otherIssuer = otherIssuer ?? reason.issuer
      }
    }
    var text = "\(issuer.text) publishes no metadata that can be used (RFC 8414):\n\n\(problems.joined())"
    if let otherIssuer {
      text +=
        "\nThe issuer in a document must be exactly the issuer that you asked for. If you trust the other one, run:\n\n"
        + "    bearerctl discover \(ShellWord.quoted(otherIssuer))\n"
    } else {
      text += "\nCheck the issuer, or copy the URLs from the documentation of the server.\n"
    }
    throw Failure(Failure.no, text)
  }

  private struct Reason: Error {
    let text: String
    let issuer: String?

    init(_ text: String, issuer: String? = nil) {
      self.text = text
      self.issuer = issuer
    }
  }

  private static func reason(_ head: TokenResponseHead) -> String {
    guard (300..<400).contains(head.status), let location = head.location else { return "status \(head.status)" }
    return "status \(head.status), a redirect to \(location.harmless). bearerctl does not follow redirects"
  }

  /// Sends a request to its endpoint over a verified connection, and returns the response.
  func response(to request: borrowing TokenRequest) throws -> TokenResponseReceiver {
    let origin = request.endpoint.origin
    var connection = try connection(to: origin)
    do {
      let receiver = try connection.response(to: request)
      connection.close()
      return receiver
    } catch let failure as Failure {
      throw Failure(failure.code, "\(request.endpoint): \(failure.message)")
    } catch let error as SocketError {
      throw Failure(Failure.unavailable, "\(request.endpoint): \(error.message)")
    } catch let error as TLSError {
      throw Failure(Failure.unavailable, "\(request.endpoint): \(error.detail)")
    } catch {
      throw Failure(Failure.system, "\(request.endpoint): \(error)")
    }
  }

  private func connection(to origin: Origin) throws -> VerifiedConnection {
    var served: [CertificateDescription] = []
    do {
      return try VerifiedConnection(
        Upstream(origin, allowedAddresses: []), trust: TrustPolicy(), store: store, served: &served)
    } catch let error as SocketError {
      throw Failure(error.kind == .noHost ? Failure.noHost : Failure.unavailable, error.message)
    } catch let error as TLSError {
      let isInvalid = !hasOwnAuthorities && error.kind == .certificateInvalid
      let hint = isInvalid ? "\n(for a private certificate authority, add --ca-file FILE)" : ""
      throw Failure(
        Failure.no,
        "\(origin.authority) could not be verified.\n\(error.detail)\(hint)" + PinReport.unverified(served))
    }
  }
}
