print("bearerctl")
