internal import Inflate

/// Answers that came compressed although they are to be searched: they are decoded first, and go on so.
extension Redactor {
  package enum Coding: Sendable { case gzip, deflate }

  /// Decodes the rest of this answer's body. False: there is no memory for that.
  package func decode(_ coding: Coding) -> Bool {
    do throws(Inflater.Problem) {
      begin(decoding: try Inflater(coding == .gzip ? .gzip : .deflate, mostDecoded: mostDecoded))
      return true
    } catch {
      return false
    }
  }

  package var isDecoding: Bool { decoder != nil }

  /// Whether a coded body ended where its coding says.
  package var isWhole: Bool { decoder?.isWhole ?? true }

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
