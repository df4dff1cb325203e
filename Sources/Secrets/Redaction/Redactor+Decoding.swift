internal import Inflate

/// Decodes a compressed response to search it. The client gets the decoded response.
extension Redactor {
  package enum Coding: Sendable { case gzip, deflate }

  /// Starts decoding the rest of the response body. Returns `false` if there is not enough memory.
  package func decode(_ coding: Coding) -> Bool {
    do throws(Inflater.Problem) {
      begin(decoding: try Inflater(coding == .gzip ? .gzip : .deflate, maximumDecodedSize: mostDecoded))
      return true
    } catch {
      return false
    }
  }

  /// Whether the body has been decoded to its end; `true` if it is empty or not compressed.
  package var isWhole: Bool { decoder?.isComplete ?? true }

  func redact(_ piece: Span<UInt8>, decodedBy decoder: Inflater, changed: inout [UInt8]) -> Range<Int>? {
    do throws(Inflater.Problem) {
      let isSearched = try decoder.decode(piece) { block in
        guard let rest = search(block, changed: &changed) else { return false }
        changed.append(contentsOf: block[rest])
        return true
      }
      return isSearched ? 0..<0 : nil
    } catch {
      return nil
    }
  }
}
